//! Vertical blanks: WAIT_VBLANK, CRTC_GET_SEQUENCE and CRTC_QUEUE_SEQUENCE.

use gem_coherency::Errno;

use super::super::{Caller, refuse};
use crate::SimDevice;
use crate::display::crtcs::Crtcs;
use crate::display::events::{Event, Kind};
use crate::display::vblanks::{Clock, Vblank, has_passed, now, sleep_until};
use gem_coherency::error::Result;
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_CRTC_GET_SEQUENCE, DRM_IOCTL_CRTC_QUEUE_SEQUENCE, DRM_IOCTL_WAIT_VBLANK,
};
use gem_coherency_uapi::drm_modeset::*;

/// The flags of WAIT_VBLANK (`_DRM_VBLANK_FLAGS_MASK`).
const FLAGS: u32 = _DRM_VBLANK_EVENT | _DRM_VBLANK_SIGNAL | _DRM_VBLANK_SECONDARY | _DRM_VBLANK_NEXTONMISS;
/// The longest wait of WAIT_VBLANK.
const MOST_NS: u64 = 3_000_000_000;
const NS_PER_SEC: u64 = 1_000_000_000;

/// Writes a vertical blank into the reply (`drm_wait_vblank_reply`).
fn reply(args: &mut drm_wait_vblank_reply, at: Vblank) {
    args.sequence = at.number as u32;
    args.tval_sec = i64::from((at.ns / NS_PER_SEC) as u32);
    args.tval_usec = (at.ns % NS_PER_SEC / 1000) as i64;
}

/// Returns the number near `near` with these low bits (`widen_32_to_64`).
fn widen(low: u32, near: u64) -> u64 {
    let distance = low.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(distance.into())
}

/// `drm_wait_vblank_ioctl`.
pub(super) fn wait(caller: &mut Caller<'_>, args: &mut drm_wait_vblank_reply) -> Result<()> {
    let request = DRM_IOCTL_WAIT_VBLANK.name;
    let device = caller.device;
    let blanks = blanks(args);
    if blanks > 0 {
        drop(device.display.look_at_screens());
    }
    match wait_or_queue(device, args) {
        Ok(None) => Ok(()),
        Ok(Some((place, until))) => {
            let most = now().saturating_add(MOST_NS);
            sleep_until(until.min(most));
            let last = device.display.crtcs().pipes.get(place).and_then(|pipe| pipe.clock.last(now()));
            // A CRTC that was turned off ends the wait.
            reply(args, last.unwrap_or(Vblank { number: args.sequence.into(), ns: now() }));
            if until > most {
                return refuse(request, Errno::EBUSY);
            }
            if blanks > 0 {
                device.display.blanks_passed(place, blanks);
            }
            Ok(())
        }
        Err(errno) => refuse(request, errno),
    }
}

/// Returns the number of vertical blanks that WAIT_VBLANK waits for, whenever it is called: those of a relative number, and one
/// for a number that must not have passed. How long it waits for another number depends on the time, and an event may be read later.
fn blanks(args: &drm_wait_vblank_reply) -> u32 {
    let has = |flag| args.r#type & flag != 0;
    match () {
        () if has(_DRM_VBLANK_EVENT) => 0,
        () if has(_DRM_VBLANK_RELATIVE) && args.sequence > 0 => args.sequence,
        () if has(_DRM_VBLANK_NEXTONMISS) => 1,
        () => 0,
    }
}

/// Answers WAIT_VBLANK, or queues the event; otherwise returns the CRTC and the time to wait for.
fn wait_or_queue(
    device: &SimDevice,
    args: &mut drm_wait_vblank_reply,
) -> Result<Option<(usize, u64)>, Errno> {
    let known = _DRM_VBLANK_RELATIVE | FLAGS | _DRM_VBLANK_HIGH_CRTC_MASK;
    if args.r#type & _DRM_VBLANK_SIGNAL != 0 || args.r#type & !known != 0 {
        return Err(Errno::EINVAL);
    }
    let flags = args.r#type & FLAGS;
    let high = (args.r#type & _DRM_VBLANK_HIGH_CRTC_MASK) >> _DRM_VBLANK_HIGH_CRTC_SHIFT;
    let place = match high {
        0 => usize::from(flags & _DRM_VBLANK_SECONDARY != 0),
        high => high as usize,
    };
    let mut crtcs = device.display.crtcs();
    let clock = crtcs.pipes.get(place).ok_or(Errno::EINVAL)?.clock;
    let time = now();
    let last = clock.last(time).ok_or(Errno::EINVAL)?;
    let relative = args.r#type & _DRM_VBLANK_RELATIVE != 0;
    let mut wanted = if relative {
        last.number.wrapping_add(args.sequence.into())
    } else {
        widen(args.sequence, last.number)
    };
    if relative {
        args.r#type &= !_DRM_VBLANK_RELATIVE;
        args.sequence = wanted as u32;
    }
    if flags & _DRM_VBLANK_NEXTONMISS != 0 && has_passed(last.number, wanted) {
        wanted = last.number.wrapping_add(1);
        args.r#type &= !_DRM_VBLANK_NEXTONMISS;
        args.sequence = wanted as u32;
    }
    let at = due(&clock, time, last, wanted);
    if flags & _DRM_VBLANK_EVENT != 0 {
        let user_data = args.tval_sec as u64;
        queue(device, &mut crtcs, place, (Kind::Vblank, user_data), at)?;
        args.sequence = at.number as u32;
        return Ok(None);
    }
    if at == last {
        reply(args, last);
        return Ok(None);
    }
    Ok(Some((place, at.ns)))
}

/// Returns the vertical blank of an event: the one wanted, or the last one if that has passed.
fn due(clock: &Clock, now: u64, last: Vblank, wanted: u64) -> Vblank {
    if has_passed(last.number, wanted) { last } else { clock.at(now, wanted).unwrap_or(last) }
}

/// Queues an event for the file (`drm_queue_vblank_event`).
fn queue(
    device: &SimDevice,
    crtcs: &mut Crtcs,
    pipe: usize,
    (kind, user_data): (Kind, u64),
    at: Vblank,
) -> Result<(), Errno> {
    let file = device.own.number;
    crtcs.events.reserve(file, 1)?;
    crtcs.events.push(Event { file, pipe, crtc: Crtcs::id(pipe), kind, at, user_data });
    Ok(())
}

/// `drm_crtc_get_sequence_ioctl`.
pub(super) fn get_sequence(caller: &mut Caller<'_>, args: &mut drm_crtc_get_sequence) -> Result<()> {
    let request = DRM_IOCTL_CRTC_GET_SEQUENCE.name;
    let crtcs = caller.device.display.crtcs();
    let Some(pipe) = crtcs.place(args.crtc_id).and_then(|place| crtcs.pipes.get(place)) else {
        return refuse(request, Errno::ENOENT);
    };
    let Some(last) = pipe.clock.last(now()) else { return refuse(request, Errno::EINVAL) };
    args.active = u32::from(pipe.mode.is_some());
    args.sequence = last.number;
    args.sequence_ns = last.ns as i64;
    Ok(())
}

/// `drm_crtc_queue_sequence_ioctl`.
pub(super) fn queue_sequence(caller: &mut Caller<'_>, args: &mut drm_crtc_queue_sequence) -> Result<()> {
    let request = DRM_IOCTL_CRTC_QUEUE_SEQUENCE.name;
    let bad = |errno| refuse(request, errno);
    let device = caller.device;
    let mut crtcs = device.display.crtcs();
    let Some(place) = crtcs.place(args.crtc_id) else { return bad(Errno::ENOENT) };
    if args.flags & !(DRM_CRTC_SEQUENCE_RELATIVE | DRM_CRTC_SEQUENCE_NEXT_ON_MISS) != 0 {
        return bad(Errno::EINVAL);
    }
    let Some(clock) = crtcs.pipes.get(place).map(|pipe| pipe.clock) else { return bad(Errno::ENOENT) };
    let time = now();
    let Some(last) = clock.last(time) else { return bad(Errno::EINVAL) };
    let mut wanted = args.sequence;
    if args.flags & DRM_CRTC_SEQUENCE_RELATIVE != 0 {
        wanted = wanted.wrapping_add(last.number);
    }
    if args.flags & DRM_CRTC_SEQUENCE_NEXT_ON_MISS != 0 && has_passed(last.number, wanted) {
        wanted = last.number.wrapping_add(1);
    }
    let at = due(&clock, time, last, wanted);
    if let Err(errno) = queue(device, &mut crtcs, place, (Kind::Sequence, args.user_data), at) {
        return bad(errno);
    }
    args.sequence = at.number;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::widen;

    #[test]
    fn a_number_of_32_bits_is_the_nearest_one() {
        assert_eq!(widen(7, 5), 7);
        assert_eq!(widen(1, 0xffff_fffe), 0x1_0000_0001);
        assert_eq!(widen(0xffff_ffff, 0x1_0000_0001), 0xffff_ffff);
    }
}
