//! Makes one request to the kernel, with restarts and tracing.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Instant;

use gem_coherency_policy::Errno;
use nix::libc;
use tracing::Level;

use crate::error::{Error, Result};
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_CURSOR, DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_SETCRTC,
};

/// Makes a request, restarting it as long as a signal or the driver interrupts it.
///
/// EINTR and EAGAIN are restarted with the struct as the kernel left it, as in libdrm's `drmIoctl`: a
/// GEM_WAIT continues with the remaining time. For requests that show an object EAGAIN is final: userptr
/// memory that was never pinned can never be shown. `handle` is used only for tracing.
///
/// # Errors
/// [`Error::Ioctl`] with every other errno.
///
/// # Safety
/// Every address in `args` is 0 or that of memory that the request may access as it does, for the length
/// given in `args`, until this function returns; and `T` is valid for all bit patterns.
pub(super) unsafe fn call<T>(
    fd: BorrowedFd<'_>,
    request: Ioctl<T>,
    handle: Option<u32>,
    args: &mut T,
) -> Result<()> {
    let start = tracing::enabled!(Level::DEBUG).then(Instant::now);
    let again: &[Errno] = match SHOWING.contains(&request.code) {
        true => &[Errno::EINTR],
        false => &[Errno::EINTR, Errno::EAGAIN],
    };
    let (result, restarts) = restarted(again, || {
        // SAFETY:
        // - the pointer: `args` is an exclusive reference to the struct whose size `request.code`
        //   carries, which is as much as the kernel copies;
        // - addresses in it: the caller's obligation.
        // The type of the number differs between C libraries: `int` in musl's and Android's, whose callers pass the same bits.
        let status =
            unsafe { libc::ioctl(fd.as_raw_fd(), request.code as libc::Ioctl, std::ptr::from_mut(args)) };
        if status < 0 { Err(last_errno()) } else { Ok(()) }
    });
    if let Some(start) = start {
        tracing::debug!(
            request = request.name,
            handle,
            errno = result.err().map(tracing::field::debug),
            restarts,
            elapsed_us = start.elapsed().as_micros() as u64,
        );
    }
    result.map_err(|errno| Error::Ioctl { request: request.name, errno })
}

/// Returns what the last system call of this thread said.
fn last_errno() -> Errno {
    io::Error::last_os_error().raw_os_error().map_or(Errno::EINVAL, Errno::new)
}

/// The requests that show an object.
const SHOWING: [u32; 3] =
    [DRM_IOCTL_MODE_SETCRTC.code, DRM_IOCTL_MODE_PAGE_FLIP.code, DRM_IOCTL_MODE_CURSOR.code];

/// Repeats `attempt` until its result is not one of `again`; returns the result and the number of
/// repetitions.
fn restarted(again: &[Errno], mut attempt: impl FnMut() -> Result<(), Errno>) -> (Result<(), Errno>, u64) {
    let mut restarts = 0;
    loop {
        let result = attempt();
        match result {
            Err(errno) if again.contains(&errno) => restarts += 1,
            _ => return (result, restarts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(answers: &[Result<(), Errno>], expected: Result<(), Errno>) {
        let mut left = answers.iter();
        let again = [Errno::EINTR, Errno::EAGAIN];
        let (result, restarts) = restarted(&again, || *left.next().expect("asked once too often"));
        assert_eq!(result, expected);
        assert_eq!(restarts + 1, answers.len() as u64);
    }

    #[test]
    fn interrupted_requests_are_restarted_and_others_are_not() {
        case(&[Ok(())], Ok(()));
        case(&[Err(Errno::EINTR), Err(Errno::EAGAIN), Err(Errno::EINTR), Ok(())], Ok(()));
        case(&[Err(Errno::EAGAIN), Err(Errno::ENODEV)], Err(Errno::ENODEV));
        for errno in [Errno::EIO, Errno::EBUSY, Errno::ETIME, Errno::ENOMEM] {
            case(&[Err(errno)], Err(errno));
        }
        let shown = restarted(&[Errno::EINTR], || Err(Errno::EAGAIN));
        assert_eq!(shown, (Err(Errno::EAGAIN), 0), "an answer, where it is not to be asked again");
    }

    /// Records the events as text.
    struct Events(std::sync::Mutex<Vec<String>>);

    impl tracing::Subscriber for &'static Events {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            let mut text = event.metadata().target().to_owned();
            event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
                text += &format!(" {field}={value:?}");
            });
            self.0.lock().unwrap().push(text);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn every_request_is_an_event_with_its_errno() {
        use std::os::fd::AsFd;
        static EVENTS: Events = Events(std::sync::Mutex::new(Vec::new()));
        let null = std::fs::File::open("/dev/null").unwrap();
        let mut args = gem_coherency_uapi::drm::drm_gem_close::default();
        tracing::subscriber::with_default(&EVENTS, || {
            // SAFETY: the struct holds no address, and its fields are integers.
            unsafe { call(null.as_fd(), gem_coherency_uapi::drm::DRM_IOCTL_GEM_CLOSE, Some(7), &mut args) }
        })
        .unwrap_err();
        let events = EVENTS.0.lock().unwrap();
        let [event] = &events[..] else { panic!("{events:?}") };
        for part in ["backend::node", "DRM_IOCTL_GEM_CLOSE", "handle=7", "errno=ENOTTY", "elapsed_us="] {
            assert!(event.contains(part), "{event}");
        }
    }

    #[test]
    fn an_error_keeps_the_errno_and_names_the_request() {
        use std::os::fd::AsFd;
        let null = std::fs::File::open("/dev/null").unwrap();
        let mut args = gem_coherency_uapi::drm::drm_gem_close::default();
        // SAFETY: the struct holds no address, and its fields are integers.
        let result =
            unsafe { call(null.as_fd(), gem_coherency_uapi::drm::DRM_IOCTL_GEM_CLOSE, Some(1), &mut args) };
        let error = result.unwrap_err();
        assert_eq!(error.errno(), Errno::ENOTTY);
        assert!(error.to_string().contains("DRM_IOCTL_GEM_CLOSE"), "{error}");
    }
}
