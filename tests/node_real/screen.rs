//! Screens: refused requests, shown frames, and the restored state.
//!
//! Takes over the display, as the tests of [`super::display`].

use std::sync::Arc;

use gem_coherency::Error;
use gem_coherency::backend::Drm;
use gem_coherency::backend::display::{Display, Shown};
use gem_coherency::backend::node::Node;
use gem_coherency::device::Device;
use gem_coherency::vocabulary::CachingMode;
use gem_coherency_exercise::Screen;

use super::display::{hdmi, primary};
use super::{Bench, Skip, Test, shown, test};

pub(super) const TESTS: &[Test] = &[
    test!(unshowable_frames_are_refused_as_on_the_software_i915, harms),
    test!(a_screen_shows_and_puts_back, harms),
];

/// Returns the primary node of a device with a display, or the reason why there is none.
fn with_display(bench: &Bench) -> Result<Node, String> {
    let path = primary(&bench.path).ok_or("no primary node")?;
    let node = Node::open(&path).map_err(|error| error.to_string())?;
    hdmi(&node).map(|_| node)
}

fn unshowable_frames_are_refused_as_on_the_software_i915(bench: &Bench) -> Skip {
    let node = match with_display(bench) {
        Ok(node) => node,
        Err(why) => return Some(why),
    };
    assert_eq!(shown::refusals::differences(&node), Vec::<String>::new());
    None
}

/// Checks that a CRTC that was off is off again, and that one that showed a framebuffer shows it again.
fn a_screen_shows_and_puts_back(bench: &Bench) -> Skip {
    let node = match with_display(bench) {
        Ok(node) => Arc::new(node),
        Err(why) => return Some(why),
    };
    let device = Device::from_drm(Arc::clone(&node) as Arc<dyn Drm>).unwrap();
    let console = node.create_dumb(1024, 768).and_then(|picture| node.add_framebuffer(&picture)).unwrap();
    for console in [None, Some(console)] {
        let mut screen = Screen::open(&device).unwrap();
        let crtc = screen.crtc();
        if let Some(console) = console {
            let shown = Shown::new(console, screen.mode(), screen.connector());
            node.set_crtc(crtc, &shown).unwrap();
            screen = Screen::open(&device).unwrap();
            assert_eq!(screen.before(), Some(&shown));
        }
        let before = Display::crtc(&*node, crtc).unwrap();
        let frames = [screen.alloc().unwrap(), screen.alloc_dumb().unwrap()];
        for frame in frames.iter().chain(&frames) {
            let mut write = frame.write(0, frame.size()).unwrap();
            write.fill(&[0x55]).unwrap();
            write.finish();
            screen.show(frame).unwrap();
            screen.dirty().unwrap();
            assert_eq!(node.caching(frame.handle()).unwrap(), frame.caching(), "the library knows the level");
        }
        // The other frame is on screen: the request would never return.
        assert!(matches!(frames[1].set_caching(CachingMode::Cached), Err(Error::OnScreen { .. })));
        screen.close().unwrap();
        assert_eq!(Display::crtc(&*node, crtc).unwrap(), before);
        node.turn_off(crtc).unwrap();
    }
    None
}
