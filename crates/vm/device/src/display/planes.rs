//! Planes of a pipe: the bytes of memory that make a frame. Only the primary plane and the cursor are known, and only linear
//! pictures.

use crate::gpu::Gpu;
use crate::gpu::display::{DISTANCE, Layout, Picture, Plane};

/// DSPCNTR(A), which is PLANE_CTL(A, 1) from gen9 on; after it the stride and the place in the picture where the plane
/// begins (DSPOFFSET of Haswell and Broadwell, PLANE_OFFSET): lines in the upper half.
const CONTROL: u32 = 0x7_0180;
const STRIDE: u32 = 0x7_0188;
const OFFSET: u32 = 0x7_01a4;
const PLANE_ENABLE: u32 = 1 << 31;
/// DSPSURF(A), PLANE_SURF(A, 1): where the picture is in the global space, in bits 31..12.
const SURFACE: u32 = 0x7_019c;
const SURFACE_ADDRESS: u32 = 0xffff_f000;

/// CURCNTR(A): width and format (MCURSOR_MODE_MASK), 0: off; CUR_FBC_CTL(A): the height, less one, if it is not the width;
/// CURBASE(A).
const CURSOR_CONTROL: u32 = 0x7_0080;
const CURSOR_MODE: u32 = 0x27;
const CURSOR_HEIGHT: u32 = 0x7_00a0;
const CURSOR_HEIGHT_ENABLE: u32 = 1 << 31;
const CURSOR_BASE: u32 = 0x7_0084;
/// MCURSOR_MODE_64_ARGB_AX, _128_ and _256_, and their widths.
const CURSORS: [(u32, u64); 3] = [(0x27, 64), (0x22, 128), (0x23, 256)];
const CURSOR_PIXEL: u64 = 4;

/// Haswell and Broadwell: the size is that of the pipe (PIPESRC). DISP_FORMAT_8BPP, _BGRX565, _BGRX888, _RGBX888,
/// _BGRX101010 and _RGBX101010; DISP_TILED.
pub static HASWELL: Layout = Layout {
    stride_unit: 1,
    size: 0x6_001c,
    width_shift: 16,
    height_shift: 0,
    format: 0xf << 26,
    formats: &[(2 << 26, 1), (5 << 26, 2), (6 << 26, 4), (14 << 26, 4), (8 << 26, 4), (10 << 26, 4)],
    tiling: 1 << 10,
};

/// Gen9: PLANE_SIZE. PLANE_CTL_FORMAT_INDEXED, _RGB_565, _XRGB_8888 and _XRGB_2101010; PLANE_CTL_TILED_MASK.
pub static SKYLAKE: Layout = Layout {
    stride_unit: 64,
    size: 0x7_0190,
    width_shift: 0,
    height_shift: 16,
    format: 0xf << 24,
    formats: &[(12 << 24, 1), (14 << 24, 2), (4 << 24, 4), (2 << 24, 4)],
    tiling: 7 << 10,
};

/// Gen11 and gen12: the format has one more bit.
pub static ICE_LAKE: Layout = Layout { format: 0x1f << 23, ..SKYLAKE };

/// A pipe's primary plane, and its cursor.
pub fn of_pipe(gpu: &Gpu, layout: &Layout, pipe: u32) -> [Plane; 2] {
    [primary(gpu, layout, pipe), cursor(gpu, pipe)]
}

fn primary(gpu: &Gpu, layout: &Layout, pipe: u32) -> Plane {
    let get = |register: u32| gpu.registers.get(register + DISTANCE * pipe);
    let control = get(CONTROL);
    if control & PLANE_ENABLE == 0 {
        return Plane::Off;
    }
    let format = layout.formats.iter().find(|(format, _)| control & layout.format == *format);
    let (Some((_, pixel)), 0) = (format, control & layout.tiling) else {
        return Plane::Unknown(control);
    };
    let size = |shift: u32| u64::from(get(layout.size) >> shift & 0x1fff) + 1;
    let stride = u64::from(get(STRIDE)) * layout.stride_unit;
    let (x, y) = (u64::from(get(OFFSET) & 0xffff), u64::from(get(OFFSET) >> 16));
    Plane::Shows(Picture {
        at: u64::from(get(SURFACE) & SURFACE_ADDRESS) + y * stride + x * pixel,
        stride,
        line: size(layout.width_shift) * pixel,
        lines: size(layout.height_shift),
    })
}

fn cursor(gpu: &Gpu, pipe: u32) -> Plane {
    let get = |register: u32| gpu.registers.get(register + DISTANCE * pipe);
    let control = get(CURSOR_CONTROL);
    let height = get(CURSOR_HEIGHT);
    match (control & CURSOR_MODE, CURSORS.iter().find(|(mode, _)| control & CURSOR_MODE == *mode)) {
        (0, _) => Plane::Off,
        (_, None) => Plane::Unknown(control),
        (_, Some((_, width))) => Plane::Shows(Picture {
            at: u64::from(get(CURSOR_BASE)),
            stride: width * CURSOR_PIXEL,
            line: width * CURSOR_PIXEL,
            lines: if height & CURSOR_HEIGHT_ENABLE != 0 { u64::from(height & 0xff) + 1 } else { *width },
        }),
    }
}
