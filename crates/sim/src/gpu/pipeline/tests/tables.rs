//! Binding tables, surface states, and the surfaces in them.

use super::*;

/// A surface state of a linear buffer or of an image of 32 bits a pixel.
fn surface_state(
    generation: u16,
    kind: u32,
    format: u32,
    start: u32,
    size: [u32; 2],
    pitch: u32,
) -> Vec<u32> {
    let [width, height] = size;
    let first = kind << 29 | format << 18;
    match generation {
        60 => vec![first, start, height << 19 | width << 6, pitch << 3, 0, 0],
        70 | 75 => vec![first, start, height << 16 | width, pitch, 0, 0, 0, 0],
        _ => {
            let mut words = vec![first, 0, height << 16 | width, pitch, 0, 0, 0, 0, start, 0];
            words.resize(16, 0);
            words
        }
    }
}

impl Bench {
    /// Surface states at 0x4000, a binding table after them, and a pixel shader with two entries.
    fn tables(&self, table: u32) -> Vec<Vec<u32>> {
        let at = HERE + 0x4000;
        let mut commands = vec![match self.generation {
            60 | 70 | 75 => vec![0x6101_0008, 0, at | 1, 0, 0, 0, 0, 0, 0, 0],
            _ => {
                let mut words = vec![0x6101_0011, 0, 0, 0, at | 1, 0, 0, 0];
                words.resize(19, 0);
                words
            }
        }];
        commands.extend(match self.generation {
            60 => vec![
                // 3DSTATE_WM with a dispatch, 3DSTATE_BINDING_TABLE_POINTERS.
                vec![0x7814_0007, 0, 2 << 18, 0, 0, 1 << 19, 0, 0, 0],
                vec![0x7801_1002, 0, 0, table],
            ],
            70 | 75 => vec![vec![0x7820_0006, 0, 2 << 18, 0, 1, 0, 0, 0], vec![0x782a_0000, table]],
            _ => vec![
                vec![0x7820_000a, 0, 0, 2 << 18, 0, 0, 1, 0, 0, 0, 0, 0],
                // 3DSTATE_PS_EXTRA: the pixel shader is valid.
                vec![0x784f_0000, 1 << 31],
                // 3DSTATE_BINDING_TABLE_POOL_ALLOC, for graphics 12.5.
                vec![0x7919_0002, if self.generation == 125 { at } else { 0 }, 0, 0],
                vec![0x782a_0000, table],
            ],
        });
        commands
    }
}

#[test]
fn a_draw_reads_the_binding_table_and_judges_the_surfaces() {
    each(|bench| {
        let (one, other) = (HERE + 0x8000, HERE + 0xa000);
        let generation = bench.generation;
        // A buffer of 200 elements of 16 bytes: 199 is 71 and 1 << 7. An image of 3 lines of 10 pixels.
        bench.write(0x4100, &surface_state(generation, 4, 0, one, [71, 1], 15));
        bench.write(0x4200, &surface_state(generation, 1, 0xc7, other, [9, 2], 63));
        bench.write(0x4000 + 0x80, &[0x100, 0x200, 0x300]);
        let commands = [bench.tables(0x80), bench.draw(1, false, [1, 0, 1, 0, 0])].concat();
        let seen = bench.run(Surface, &commands);
        let rows: Vec<_> = [0, 64, 128].into_iter().map(|row| (0xa000 + row, 40)).collect();
        assert_eq!(seen, [&[(0x8000, 3200)], &rows[..]].concat(), "{generation}");
    });
}

#[test]
fn whole_tiles_of_a_tiled_surface_count_and_uncertain_surfaces_do_not() {
    each(|bench| {
        let generation = bench.generation;
        // 256 pixels of 4 bytes, 40 lines, and a pitch of 2048 bytes.
        let linear = surface_state(generation, 1, 0xc7, HERE + 0x8000, [255, 39], 2047);
        let changed = |at: usize, bits: u32| {
            let mut state = linear.clone();
            state[at] |= bits;
            state
        };
        // X and Y: where the fields of the tiling are.
        let [x, y] = match generation {
            60 => [changed(3, 2), changed(3, 3)],
            70 | 75 => [changed(0, 1 << 14), changed(0, 3 << 13)],
            _ => [changed(0, 2 << 12), changed(0, 3 << 12)],
        };
        let commands = [bench.tables(0x80), bench.draw(1, false, [1, 0, 1, 0, 0])].concat();
        let mut judged = |state: &[u32]| {
            bench.write(0x4100, state);
            bench.write(0x4000 + 0x80, &[0x100, 0]);
            bench.run(Surface, &commands)
        };
        let lines: Vec<_> = (0..40).map(|line| (0x8000 + 2048 * line, 1024)).collect();
        assert_eq!(judged(&linear), lines, "{generation}");
        // X has five rows of tiles, with two of the four in a row; Y has one whole row, with eight of 16.
        let tiles: Vec<_> = (0..5).map(|row| (0x8000 + 4 * 4096 * row, 2 * 4096)).collect();
        assert_eq!(judged(&x), tiles, "{generation}");
        assert_eq!(judged(&y), [(0x8000, 8 * 4096)], "{generation}");
        // Several samples; compression; a pitch that is too small; an unknown format.
        let samples = if generation == 60 { 1 << 4 } else { 1 << 3 };
        assert_eq!(judged(&changed(4, samples)), [], "{generation}");
        if generation > 60 {
            assert_eq!(judged(&changed(6, 1)), [], "{generation}");
        }
        assert_eq!(judged(&surface_state(generation, 1, 0xc7, HERE, [255, 39], 1022)), [], "{generation}");
        assert_eq!(judged(&surface_state(generation, 1, 0x186, HERE, [255, 39], 2047)), [], "{generation}");
    });
}

#[test]
fn states_are_read_and_pointers_are_lost_with_their_base() {
    each(|bench| {
        let state = surface_state(bench.generation, 7, 0, 0, [0, 0], 0);
        bench.write(0x4000 + 0x80, &[0x100, 0x140]);
        let tables = bench.tables(0x80);
        let draw = bench.draw(1, false, [1, 0, 1, 0, 0]);
        let len = 4 * state.len() as u64;
        let read = bench.run(Tables, &[&tables[..], &draw].concat());
        assert_eq!(read, [(0x4080, 8), (0x4100, len), (0x4140, len)], "{}", bench.generation);
        let mut moved = tables[0].clone();
        let base = if bench.is_wide() { 4 } else { 2 };
        moved[base] += 0x1000;
        // Graphics 12.5 has the tables in the pool.
        let pool = vec![0x7919_0002, HERE + 0x5000, 0, 0];
        assert_eq!(bench.run(Tables, &[&[moved, pool], &draw[..]].concat()), []);
    });
}

#[test]
fn larger_pointers_of_tables_and_generated_tables() {
    let pool = || vec![0x7919_0002, (HERE + 0x4000) | (1 << 11) | 2, 0, 0];
    // GT_MODE by MI_LOAD_REGISTER_IMM: pointers count 256 bytes.
    let mode = |on: u32| vec![0x1100_0001, 0x7008, 1 << 26 | on << 10];
    for (name, generation, expected) in [
        ("glk", 90, vec![]),
        ("jsl", 110, vec![(0x4400, 8)]),
        ("tgl", 120, vec![(0x4400, 8)]),
        ("dg2", 125, vec![(0x4080, 8)]),
    ] {
        let mut bench = Bench::new(name, generation);
        bench.write(0x4000, &[0; 0x200]);
        let draw = bench.draw(1, false, [1, 0, 1, 0, 0]);
        let point = vec![0x782a_0000, 0x80];
        let commands = [bench.tables(0x80), vec![mode(1), pool(), point.clone()], draw.clone()].concat();
        assert_eq!(bench.run(Tables, &commands), expected, "{name}");
        let back = [vec![mode(0), point], draw].concat();
        let expected = if generation == 90 { vec![] } else { vec![(0x4080, 8)] };
        assert_eq!(bench.run(Tables, &back), expected, "{name}");
    }
}

#[test]
fn a_dispatch_reads_its_descriptor_and_its_table() {
    for (name, generation) in PLATFORMS.into_iter().filter(|(_, generation)| *generation >= 70) {
        let mut bench = Bench::new(name, generation);
        bench.write(0x4100, &surface_state(generation, 4, 0, HERE + 0x8000, [71, 1], 15));
        bench.write(0x4000 + 0x80, &[0x100, 0x100]);
        // The second descriptor of those at 0x6000 has two entries, one of which is used.
        let (table, dispatch) = match generation {
            70 | 75 => (3, vec![0x7105_0009, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0]),
            125 => {
                let mut walker = vec![0x7208_0025, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0];
                walker.resize(39, 0);
                walker[18 + 4] = 0x80 | 2;
                (4, walker)
            }
            _ => (4, vec![0x7105_000d, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0]),
        };
        let mut descriptor = [0; 8];
        descriptor[table] = 0x80 | 2;
        bench.write(0x6020, &descriptor);
        let mut commands = bench.tables(0x80);
        let dynamic = if bench.is_wide() { 6 } else { 3 };
        commands[0][dynamic] = (HERE + 0x6000) | 1;
        // MEDIA_INTERFACE_DESCRIPTOR_LOAD of two.
        commands.push(vec![0x7002_0002, 0, 64, 0]);
        let empty = |at: usize| {
            let mut changed = dispatch.clone();
            changed[at] = 0;
            changed
        };
        let last = match generation {
            70 | 75 => 8,
            125 => 9,
            _ => 12,
        };
        assert_eq!(
            bench.run(Tables, &[commands.clone(), vec![empty(last)]].concat()),
            [],
            "{name}: no group"
        );
        let indirect = [&[dispatch[0] | 1 << 10], &dispatch[1..]].concat();
        assert_eq!(bench.run(Tables, &[indirect]), [], "{name}: from registers");
        let read = bench.run(Tables, std::slice::from_ref(&dispatch));
        let state = if bench.is_wide() { 64 } else { 32 };
        let mut expected = vec![(0x4080, 4), (0x4100, state)];
        if generation < 125 {
            expected.push((0x6020, 32));
        }
        assert_eq!(read, expected, "{name}");
        assert_eq!(bench.run(Surface, &[dispatch]), [(0x8000, 3200)], "{name}");
    }
}
