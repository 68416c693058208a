//! A fresh object's memory is the previous owner's until its zeroes are flushed.

use gem_coherency::backend::{Drm, ExecObject};
use gem_coherency::vocabulary::{Access, Handle, MocsClass};
use gem_coherency_sim::{PREVIOUS_OWNER, SimDevice};

use crate::sim;

const ZEROES: [u8; 16] = [0; 16];

/// A fresh object that the GPU may use.
fn submitted(device: &SimDevice) -> Handle {
    let handle = device.create(4096).unwrap().handle;
    device.execute(&[ExecObject { handle, access: Access::Read }]).unwrap();
    handle
}

#[track_caller]
fn case(name: &str, mocs: MocsClass, expected: [u8; 16]) {
    let device = sim(name);
    let handle = submitted(&device);
    let mut seen = [1; 16];
    device.gpu_read(handle, mocs, 4080, &mut seen).unwrap();
    assert_eq!(seen, expected, "{name} {mocs}");
}

#[test]
fn a_bypassing_read_on_jsl_sees_the_previous_owner_before_the_acquire_flush_existed() {
    case("jsl,kernel=5.14", MocsClass::BypassLlc, PREVIOUS_OWNER);
    case("ehl,kernel=5.14", MocsClass::BypassLlc, PREVIOUS_OWNER);
    case("jsl,kernel=5.14", MocsClass::PageTable, ZEROES);
}

#[test]
fn the_acquire_flush_was_dead_code_until_objects_were_the_users() {
    for kernel in ["5.16", "6.0"] {
        case(&format!("jsl,kernel={kernel}"), MocsClass::BypassLlc, PREVIOUS_OWNER);
    }
    for kernel in ["5.15", "6.1", "6.2", "6.3", "6.12", "7.3"] {
        case(&format!("jsl,kernel={kernel}"), MocsClass::BypassLlc, ZEROES);
        case(&format!("ehl,kernel={kernel}"), MocsClass::BypassLlc, ZEROES);
    }
}

#[test]
fn nobody_else_could_ever_see_the_previous_owner() {
    for name in ["glk", "tgl", "hsw", "mtl", "mtl,kernel=6.1", "dg2", "i965gm"] {
        for kernel in ["5.14", "6.12"] {
            let name =
                if name.contains("kernel") { name.to_owned() } else { format!("{name},kernel={kernel}") };
            for &mocs in MocsClass::ALL {
                case(&name, mocs, ZEROES);
            }
        }
    }
}

#[test]
fn the_display_sees_the_previous_owner_of_what_was_never_pinned() {
    let device = sim("tgl");
    let handle = submitted(&device);
    let mut seen = [1; 16];
    device.display_read(handle, 0, &mut seen).unwrap();
    assert_eq!(seen, PREVIOUS_OWNER);
    device.set_framebuffer(handle).unwrap();
    device.pin_display(handle).unwrap();
    device.display_read(handle, 0, &mut seen).unwrap();
    assert_eq!(seen, ZEROES);
}

#[test]
fn user_memory_with_a_pat_index_is_flushed_on_acquire() {
    for index in 0..5 {
        let device = sim("mtl");
        let handle = device.create_with_pat(4096, index).unwrap().handle;
        device.execute(&[ExecObject { handle, access: Access::Read }]).unwrap();
        let mut seen = [1; 16];
        device.gpu_read(handle, MocsClass::PageTable, 0, &mut seen).unwrap();
        assert_eq!(seen, ZEROES, "{index}");
        assert_eq!(device.kernel_flushes().len(), 1, "{index}");
    }
}
