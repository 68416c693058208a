//! The errors of invalid display requests, on the driver and on the software i915.

use gem_coherency::Errno;
use gem_coherency::Result;
use gem_coherency::backend::Drm;
use gem_coherency::backend::display::{Crtc, Mode, Picture, Shown};

/// Makes invalid requests; returns those that were not refused with the known errno.
///
/// The file must be the DRM master. At the end, the first CRTC shows its previous framebuffer again.
pub fn differences(drm: &dyn Drm) -> Vec<String> {
    let display = drm.display().unwrap();
    let resources = display.resources().unwrap();
    let connector = resources.connectors.iter().copied().find(|one| one.is_hdmi()).expect("HDMI");
    let crtc: Crtc = resources.crtcs[0];
    let before = display.crtc(crtc).unwrap();
    display.turn_off(crtc).unwrap();
    let frame = |width, height| {
        let picture = display.create_dumb(width, height).unwrap();
        (picture, display.add_framebuffer(&picture).unwrap())
    };
    let (picture, good) = frame(1024, 768);
    let (_, small) = frame(1024, 767);
    let gone = display.add_framebuffer(&picture).unwrap();
    display.remove_framebuffer(gone).unwrap();
    let shown = Shown::new(good, Mode::XGA, connector);
    let set = |change: &dyn Fn(&mut Shown)| {
        let mut shown = shown.clone();
        change(&mut shown);
        display.set_crtc(crtc, &shown)
    };
    let cursor = |width, height, bytes| {
        let handle = drm.create(bytes).unwrap().handle;
        let done = display.set_cursor(crtc, Some(&Picture { handle, width, height, pitch_bytes: 4 * width }));
        drm.close(handle).unwrap();
        done
    };
    let mut found = Vec::new();
    let mut case = |what: &str, result: Result<()>, expected: Option<Errno>| {
        let errno = result.err().map(|error| error.errno());
        if errno != expected {
            found.push(format!("{what}: {errno:?}, not {expected:?}"));
        }
    };
    case("a flip on a CRTC that is off", display.flip(crtc, good), Some(Errno::EBUSY));
    case("the same to no framebuffer", display.flip(crtc, gone), Some(Errno::EBUSY));
    case("a mode past 16 bits", set(&|one| one.from = (0x10000, 0)), Some(Errno::ERANGE));
    case("no framebuffer", set(&|one| one.framebuffer = gone), Some(Errno::ENOENT));
    case("one smaller than the mode", set(&|one| one.framebuffer = small), Some(Errno::ENOSPC));
    case("a place past the framebuffer", set(&|one| one.from = (1, 0)), Some(Errno::ENOSPC));
    case("no clock", set(&|one| one.mode.clock_khz = 0), Some(Errno::EINVAL));
    case("no lines", set(&|one| one.mode.vertical.shown = 0), Some(Errno::EINVAL));
    case("a total before the sync", set(&|one| one.mode.horizontal.total = 1100), Some(Errno::EINVAL));
    case("no connector", set(&|one| one.connectors.clear()), Some(Errno::EINVAL));
    case(
        "a bad mode before a small framebuffer",
        set(&|one| (one.framebuffer, one.mode.clock_khz) = (small, 0)),
        Some(Errno::EINVAL),
    );
    case("what can be shown", set(&|_| ()), None);
    case("a flip to no framebuffer", display.flip(crtc, gone), Some(Errno::ENOENT));
    case("a flip to a smaller one", display.flip(crtc, small), Some(Errno::ENOSPC));
    case("a flip to the same", display.flip(crtc, good), None);
    case("DIRTYFB of none", display.dirty(gone), Some(Errno::ENOENT));
    case("RMFB of none", display.remove_framebuffer(gone), Some(Errno::ENOENT));
    case("a cursor", cursor(64, 64, 16384), None);
    case("a cursor's place", display.move_cursor(crtc, -5, 700), None);
    case("a cursor of a width that is none", cursor(65, 64, 32768), Some(Errno::EINVAL));
    case("a cursor of another", cursor(96, 96, 65536), Some(Errno::EINVAL));
    case("a cursor that is too high", cursor(256, 512, 1 << 20), Some(Errno::EINVAL));
    case("a cursor without its pixels", cursor(64, 64, 4096), Some(Errno::EINVAL));
    case("no cursor", display.set_cursor(crtc, None), None);
    assert_eq!(display.crtc(crtc).unwrap(), Some(shown.clone()), "GETCRTC");
    case("RMFB of what is shown", display.remove_framebuffer(good), None);
    case("a flip after it", display.flip(crtc, small), Some(Errno::EBUSY));
    display.remove_framebuffer(small).unwrap();
    match before {
        Some(before) => display.set_crtc(crtc, &before).unwrap(),
        None => display.turn_off(crtc).unwrap(),
    }
    found
}
