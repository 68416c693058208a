//! A fragment shader on the executor: inputs, outputs, differences between pixels, and pixels that are discarded.

use gem_shader_compiler::{Binding, Stage};

use crate::threads::{PLATFORMS, compile, execute};

/// Pixels of a row, and rows.
const EXTENT: [u32; 3] = [20, 6, 1];
/// The first contents of outputs.
const UNTOUCHED: u32 = 0xeeee_eeee;
/// The uniform block: a direction, and a power.
const LIGHT: [f32; 4] = [0.5, -0.25, 1.0, 2.0];

/// Returns the inputs of a pixel: a colour that changes evenly along rows and columns, with alpha the same in each quad, and a kind.
fn inputs(x: u32, y: u32) -> ([f32; 4], u32) {
    let (right, down) = (x as f32, y as f32);
    let quad = x / 2 + y / 2;
    let alpha = if quad % 5 == 1 { 0.125 } else { 0.5 };
    ([0.5 * right + down, 2.0 * right - 0.25 * down, 0.125 * right - 4.0 * down, alpha], (x + 3 * y) % 5)
}

/// Returns the outputs of a pixel, as `colour.frag` has them.
fn outputs(x: u32, y: u32) -> [[u32; 4]; 2] {
    let ([r, g, b, alpha], kind) = inputs(x, y);
    if alpha < 0.25 {
        return [[UNTOUCHED; 4]; 2];
    }
    let shaded = if kind == 2 { [b, g, r] } else { [r, g, b].map(|one| one * LIGHT[3]) };
    // The differences of the colour: 0.5 along a row in red, -0.25 along a column in green, and both in blue.
    let c = [shaded[0] + 0.5, shaded[1] - 0.25, shaded[2] + 0.125 + 4.0];
    let light = (c[0] * LIGHT[0] + c[1] * LIGHT[1] + c[2] * LIGHT[2]).max(0.0);
    let shown = if kind == 3 { [1.0; 4] } else { [c[0] * light, c[1] * light, c[2] * light, alpha] };
    [shown.map(f32::to_bits), [x, y, UNTOUCHED, UNTOUCHED]]
}

#[test]
fn pixels_are_shaded_or_discarded() {
    let [width, height, _] = EXTENT;
    let pixels: Vec<(u32, u32)> = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).collect();
    let colours = pixels.iter().flat_map(|(x, y)| inputs(*x, *y).0.map(f32::to_bits)).collect::<Vec<_>>();
    let kinds = pixels.iter().flat_map(|(x, y)| [inputs(*x, *y).1, 0, 0, 0]).collect::<Vec<_>>();
    let untouched = vec![UNTOUCHED; 4 * pixels.len()];
    let surface = |binding: Binding| match binding {
        Binding::Input { location: 0 } => colours.clone(),
        Binding::Input { location: 1 } => kinds.clone(),
        Binding::Output { .. } => untouched.clone(),
        Binding::Buffer { set: 0, binding: 0 } => LIGHT.map(f32::to_bits).to_vec(),
        binding @ (Binding::Buffer { .. } | Binding::Push | Binding::Input { .. }) => {
            panic!("the shader has no {binding:?}")
        }
    };
    for platform in PLATFORMS {
        let shader = compile(platform, include_bytes!("../data/colour.spv"), Stage::Fragment);
        let surfaces: Vec<_> = shader.surfaces.iter().map(|used| surface(used.binding)).collect();
        let found = execute(&shader, EXTENT, &surfaces);
        for (used, (found, before)) in shader.surfaces.iter().zip(found.iter().zip(&surfaces)) {
            let Binding::Output { location } = used.binding else {
                assert_eq!(found, before, "{platform} {used:?}");
                continue;
            };
            for (found, (x, y)) in found.chunks(4).zip(&pixels) {
                assert_eq!(
                    found,
                    outputs(*x, *y)[location as usize],
                    "{platform} output {location} of {x}, {y}"
                );
            }
        }
    }
}
