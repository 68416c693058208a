//! The progress of commands that take long: on a terminal only, and erased at the end.

use std::process::{Command, Stdio};

use crate::REPOSITORY;

/// The full part of a bar.
const FULL: char = '\u{2588}';
/// Erases the line.
const ERASE: &str = "\r\u{1b}[2K";

/// Returns the terminal's output of gemtool with the arguments in `line`, which the shell reads; `None` if there is no script(1),
/// which makes the terminal.
fn on_terminal(line: &str) -> Option<String> {
    let mut script = Command::new("script");
    let shell = format!("stty cols 100; {} {line}", env!("CARGO_BIN_EXE_gemtool"));
    script.args(["-qec", &shell, "/dev/null"]).stdin(Stdio::null()).current_dir(REPOSITORY);
    script.env_remove("GEM_COHERENCY_LOG").env("NO_COLOR", "1").env("TERM", "xterm");
    let Ok(output) = script.output() else {
        eprintln!("skipped: no script(1)");
        return None;
    };
    assert!(output.status.success(), "{line}: {output:?}");
    Some(String::from_utf8(output.stdout).expect("gemtool writes UTF-8"))
}

/// The commands that show their progress, without their results, and what they count.
const LONG: [(&str, &str); 4] = [
    ("explain --table --kernel 5.10 --json", "platforms"),
    ("bench --quick constant threads", "rows, threads"),
    ("check --platform i830,glk --kernel 6.12 --caller protocol", "searches"),
    ("verify --quick --device sim:glk --caching none --write cpu-wb --read cpu-wb", "measurements"),
];

#[test]
fn a_long_command_shows_its_progress_and_erases_it() {
    for (command, counted) in LONG {
        let Some(shown) = on_terminal(&format!("{command} > /dev/null")) else { return };
        assert!(shown.contains(FULL) && shown.contains(counted), "{command}: {shown:?}");
        assert_eq!(shown.rsplit(ERASE).next(), Some(""), "{command}: {shown:?}");
    }
}

#[test]
fn the_log_and_rows_on_the_terminal_take_the_place_of_the_bar() {
    for (command, _) in LONG {
        let Some(shown) = on_terminal(&format!("{command} -v > /dev/null")) else { return };
        assert!(!shown.contains(FULL), "{command}: {shown:?}");
    }
    let Some(shown) = on_terminal("explain --table --kernel 5.10") else { return };
    assert!(!shown.contains(FULL) && shown.contains("writer"), "{shown}");
}

#[test]
fn without_a_terminal_there_is_no_progress() {
    for (command, _) in LONG {
        let Some(shown) = on_terminal(&format!("{command} 2>&1 > /dev/null | cat")) else { return };
        assert_eq!(shown, "", "{command}");
    }
}
