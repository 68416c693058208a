//! Questions.

use gem_coherency_uapi::i915_exec::{DRM_IOCTL_I915_QUERY, drm_i915_query_item};

use super::Values::{Built, Of};
use super::{Builder, Shape, f, ioctl};
use crate::processes::arena::{DATA, HOLE, READ_ONLY};

/// Lengths and places of the room for an answer.
const ROOMS: &[(i32, Room)] = &[
    (512, Room::Zeroes),
    (0, Room::Zeroes),
    (1, Room::Zeroes),
    (16, Room::Zeroes),
    (-1, Room::Zeroes),
    (i32::MIN, Room::Zeroes),
    (512, Room::At(HOLE)),
    (512, Room::At(HOLE - 20)),
    (512, Room::At(READ_ONLY)),
    (512, Room::At(DATA)),
    (512, Room::At(0)),
    (512, Room::At(0x8000_0000_0000)),
    (512, Room::Ones),
];

#[derive(Clone, Copy)]
enum Room {
    Zeroes,
    /// A number where the answers have their first reserved field.
    Ones,
    At(u64),
}

/// Numbers of questions with flags.
const QUESTIONS: &[(u64, u32)] = &[
    (1, 0),
    (2, 0),
    (3, 1),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (1, 1),
    (2, 1),
    (3, 0),
    (3, 2),
    (3, 3),
    (3, 4),
    (4, 1),
    (5, 1),
    (6, 1),
    (6, 4),
    (6, 0x1_0000),
    (6, 0x100),
    (6, 0xffff),
    (8, 0),
    (0, 0),
    (u64::MAX, 0),
    (1 << 32 | 1, 0),
];

fn item(
    builder: &mut Builder,
    (query_id, flags): (u64, u32),
    (length, room): (i32, Room),
) -> drm_i915_query_item {
    let data_ptr = match room {
        Room::Zeroes => builder.put(&[0u8; 512]),
        Room::Ones => {
            let at = builder.put(&[0u8; 512]);
            builder.written.push((at + 4, vec![1]));
            at
        }
        Room::At(address) => address,
    };
    // The amount of memory depends on the machine, not on the driver.
    if query_id == 4 && length != 0 && !matches!(room, Room::At(address) if !(DATA..HOLE).contains(&address))
    {
        for region in 0..2 {
            builder.mask(data_ptr + 16 + region * 88 + 8, 32);
        }
    }
    drm_i915_query_item { query_id, length, flags, data_ptr }
}

fn items(builder: &mut Builder, pick: u16) -> u64 {
    let (questions, rooms) = (QUESTIONS.len(), ROOMS.len());
    let pick = usize::from(pick);
    let bad = [HOLE, HOLE - 12, 0, READ_ONLY, u64::MAX - 7];
    if pick >= questions * rooms {
        return bad[pick - questions * rooms];
    }
    let one = item(builder, QUESTIONS[pick % questions], ROOMS[pick / questions]);
    let other = item(builder, (2, 0), ROOMS[0]);
    builder.put(&[one, other])
}

pub const SHAPES: &[Shape] = &[ioctl(
    "QUERY",
    DRM_IOCTL_I915_QUERY.code,
    4,
    &[
        f("num_items", 0, 4, Of(&[1, 2, 0, 3])),
        f("flags", 4, 4, Of(&[0, 1])),
        f("items_ptr", 8, 8, Built((QUESTIONS.len() * ROOMS.len()) as u16 + 5, items)),
    ],
)];
