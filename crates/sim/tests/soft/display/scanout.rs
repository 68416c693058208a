//! Scanout: what the pin forces, what is flushed, and what is refused.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::{Drm, Extras};
use gem_coherency::policy::Rule;
use gem_coherency::vocabulary::{CacheLevel, CachingMode, Domains, MmapMode};

use crate::{Page, errno, unknown, write_domain};

const NEW: [u8; 4] = *b"new!";

fn shown(name: &str) -> Page {
    let page = Page::new(name);
    page.device.set_framebuffer(page.handle()).unwrap();
    page.device.pin_display(page.handle()).unwrap();
    page
}

#[test]
fn a_pin_forces_the_level_and_flushes() {
    let case = |name: &str, level, mode| {
        let page = shown(name);
        let snapshot = page.device.snapshot(page.handle()).unwrap();
        assert_eq!((snapshot.level, snapshot.dirty), (level, false), "{name}");
        page.device.unpin_display(page.handle()).unwrap();
        page.device.remove_framebuffer(page.handle()).unwrap();
        assert_eq!(page.device.caching(page.handle()).unwrap(), mode, "{name}: never restored");
    };
    case("tgl", CacheLevel::None, CachingMode::None);
    case("glk", CacheLevel::None, CachingMode::None);
    case("jsl", CacheLevel::None, CachingMode::None);
    case("hsw", CacheLevel::Wt, CachingMode::Display);
    case("hsw,edram=0", CacheLevel::None, CachingMode::None);
}

#[test]
fn a_cpu_write_shows_after_sw_finish_and_not_before() {
    for name in ["tgl", "glk", "jsl", "hsw"] {
        let page = shown(name);
        write_domain(&page.device, page.handle(), Domains::CPU).unwrap();
        page.store(&NEW);
        assert_ne!(page.display_reads(), NEW, "{name}");
        let before = page.flushes();
        page.device.sw_finish(page.handle()).unwrap();
        assert_eq!(page.display_reads(), NEW, "{name}");
        assert_eq!(page.flushes(), before + 1, "{name}");
        page.device.sw_finish(page.handle()).unwrap();
        assert_eq!(page.flushes(), before + 1, "{name}: repeated, nothing");
    }
}

#[test]
fn sw_finish_of_what_is_no_framebuffer_flushes_nothing() {
    let page = Page::new("tgl");
    write_domain(&page.device, page.handle(), Domains::CPU).unwrap();
    page.store(&NEW);
    page.device.sw_finish(page.handle()).unwrap();
    assert_ne!(page.display_reads(), NEW);
    assert_eq!(page.flushes(), 0);
}

#[test]
fn dirtyfb_off_the_screen_flushes_on_6_1_and_not_on_6_12() {
    let case = |name: &str, flushes| {
        let page = shown(name);
        page.device.unpin_display(page.handle()).unwrap();
        write_domain(&page.device, page.handle(), Domains::CPU).unwrap();
        page.store(&NEW);
        let before = page.flushes();
        page.device.dirty_fb(page.handle()).unwrap();
        assert_eq!(page.flushes() - before, flushes, "{name}");
        assert_eq!(page.display_reads() == NEW, flushes == 1, "{name}");
    };
    case("tgl,kernel=6.1", 1);
    case("tgl,kernel=6.12", 0);
}

#[test]
fn a_change_of_level_on_screen_is_refused_and_changes_nothing() {
    let page = shown("tgl");
    let error = page.device.set_caching(page.handle(), CachingMode::Cached).unwrap_err();
    assert_eq!(
        error,
        Error::OnScreen { handle: page.handle().get(), from: CacheLevel::None, to: CacheLevel::Llc }
    );
    assert_eq!(page.device.caching(page.handle()).unwrap(), CachingMode::None);
    page.device.set_caching(page.handle(), CachingMode::None).unwrap();
    let hsw = shown("hsw");
    let error = hsw.device.set_caching(hsw.handle(), CachingMode::None).unwrap_err();
    assert!(matches!(error, Error::OnScreen { from: CacheLevel::Wt, to: CacheLevel::None, .. }), "{error}");
    page.device.unpin_display(page.handle()).unwrap();
    page.device.set_caching(page.handle(), CachingMode::Cached).unwrap();
}

#[test]
fn only_framebuffers_are_shown() {
    let page = Page::new("tgl");
    assert_eq!(errno(page.device.pin_display(page.handle())), Some(Errno::EINVAL));
    assert_eq!(errno(page.device.dirty_fb(page.handle())), Some(Errno::ENOENT));
    assert_eq!(errno(page.device.set_framebuffer(unknown())), Some(Errno::ENOENT));
    let dg2 = Page::new("dg2");
    dg2.device.set_framebuffer(dg2.handle()).unwrap();
    assert_eq!(errno(dg2.device.pin_display(dg2.handle())), Some(Errno::EINVAL), "system memory");
    let local = dg2.device.create_local(4096).unwrap();
    assert_eq!(local.size_bytes, 64 << 10);
    dg2.device.set_framebuffer(local.handle).unwrap();
    dg2.device.pin_display(local.handle).unwrap();
    let map = dg2.device.map(local.handle, MmapMode::Fixed, local.size_bytes).unwrap();
    map.copy_in(0, &NEW).unwrap();
    map.drain().unwrap();
    let mut seen = [1; 8];
    dg2.device.display_read(local.handle, 0, &mut seen).unwrap();
    assert_eq!(&seen, b"new!\0\0\0\0");
    assert_eq!(errno(page.device.create_local(4096)), Some(Errno::EINVAL));
}

#[test]
fn the_log_says_who_flushed_what_and_why() {
    let page = shown("tgl");
    write_domain(&page.device, page.handle(), Domains::CPU).unwrap();
    page.store(&NEW);
    page.device.sw_finish(page.handle()).unwrap();
    let last = page.device.kernel_flushes().pop().unwrap();
    assert_eq!((last.call, last.rule), ("DRM_IOCTL_I915_GEM_SW_FINISH", Rule::ScanoutFlush));
    assert_eq!((last.handle, last.bytes, last.lines_written), (Some(page.handle()), 4096, 1));
}
