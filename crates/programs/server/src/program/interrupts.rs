//! Signals that are to end a program while it makes a request: the library delays them until the request is over.

use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// The signals by which users and parents end programs.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT];

/// Returns whether a signal waits that is to end a program, and that the program does not ignore.
pub(crate) fn is_interrupted(pid: Pid) -> bool {
    // A program that is gone has no file.
    std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| has_ending_signal(&status))
}

/// Returns whether a signal that is to end the program waits, by its `/proc/PID/status`.
fn has_ending_signal(status: &str) -> bool {
    let set = |name| {
        let digits = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        digits.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
    };
    let ending = ENDING.into_iter().fold(0, |set, signal| set | 1 << (signal as u32 - 1));
    (set("SigPnd") | set("ShdPnd")) & !set("SigIgn") & ending != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_waits_and_is_not_ignored_ends_the_program() {
        let status = |thread: u64, process: u64, ignored: u64| {
            format!(
                "Name:\tx\nSigPnd:\t{thread:016x}\nShdPnd:\t{process:016x}\nSigBlk:\t{:016x}\nSigIgn:\t{ignored:016x}\n",
                !0_u64
            )
        };
        // SIGINT is 2, SIGQUIT 3, SIGTERM 15, SIGALRM 14.
        assert!(has_ending_signal(&status(0, 1 << 1, 0)));
        assert!(has_ending_signal(&status(1 << 2, 0, 1 << 1)));
        assert!(has_ending_signal(&status(0, 1 << 14, 0)));
        assert!(!has_ending_signal(&status(0, 1 << 1, 1 << 1)), "ignored");
        assert!(!has_ending_signal(&status(0, 1 << 13, 0)), "a timer");
        assert!(!has_ending_signal(&status(0, 0, 0)));
        assert!(!has_ending_signal(""));
    }
}
