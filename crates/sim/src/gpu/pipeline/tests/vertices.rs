//! What the vertex fetcher reads.

use super::*;

#[test]
fn a_draw_reads_the_elements_of_its_vertices() {
    each(|bench| {
        let mut commands = vec![
            bench.vertex_buffer(3, 0x100, 0x1000, 32),
            bench.vertex_buffer(5, 0x4000, 0x1000, 12),
            elements(&[(3, R32G32_FLOAT, 8, TWO), (5, R32G32B32_FLOAT, 0, THREE)]),
        ];
        // Two triangles from vertex 5 on; two vertices are left.
        commands.extend(bench.draw(TRILIST, false, [8, 5, 1, 0, 0]));
        let mut expected: Vec<_> = (5..11).map(|vertex| (0x100 + 32 * vertex + 8, 8)).collect();
        expected.push((0x4000 + 12 * 5, 12 * 6));
        assert_eq!(bench.run(Vertices, &commands), expected, "{}", bench.generation);
        let rest = [8, 5, 0, 0, 0];
        assert_eq!(bench.run(Vertices, &bench.draw(TRILIST, false, rest)), [], "no instance");
    });
}

#[test]
fn components_that_are_not_stored_and_vertices_after_the_end_are_not_read() {
    each(|bench| {
        let mut commands = vec![
            bench.vertex_buffer(0, 0, 100, 32),
            // Of four components, the first one; of a packed format, none; an unknown format; a buffer without state.
            elements(&[
                (0, 0xc7, 4, 0x1222),
                (0, B8G8R8A8_UNORM, 12, 0x1112),
                (0, 0x186, 16, 0x1111),
                (1, R32G32_FLOAT, 0, TWO),
            ]),
        ];
        // Bytes 4 of 0, 32, 64 and 96; the buffer ends with byte 99.
        commands.extend(bench.draw(1, false, [9, 0, 1, 0, 0]));
        assert_eq!(bench.run(Vertices, &commands), [(4, 1), (36, 1), (68, 1)], "{}", bench.generation);
        let whole = [elements(&[(0, B8G8R8A8_UNORM, 12, 0x1111)])];
        let draw = bench.draw(1, false, [1, 1, 1, 0, 0]);
        assert_eq!(bench.run(Vertices, &[&whole[..], &draw].concat()), [(44, 4)]);
        let null = [vec![0x7808_0003, 1 << 13 | 1 << 14 | 32, HERE, 0, 100]];
        assert_eq!(bench.run(Vertices, &[&null[..], &draw].concat()), [], "a null buffer");
    });
}

#[test]
fn a_buffer_keeps_its_address_unless_it_is_modified() {
    for (name, generation) in PLATFORMS {
        let mut bench = Bench::new(name, generation);
        let mut moved = bench.vertex_buffer(0, 0x800, 0x100, 16);
        moved[1] &= !(1 << 14);
        let mut commands =
            vec![bench.vertex_buffer(0, 0, 0x100, 8), moved, elements(&[(0, R32G32_FLOAT, 0, TWO)])];
        commands.extend(bench.draw(1, false, [1, 1, 1, 0, 0]));
        let expected = if generation == 60 { 0x810 } else { 0x10 };
        assert_eq!(bench.run(Vertices, &commands), [(expected, 8)], "{name}");
    }
}

#[test]
fn draws_that_depend_on_what_is_not_simulated_read_nothing() {
    each(|bench| {
        let buffer = bench.vertex_buffer(0, 0, 0x100, 8);
        let state = [buffer, elements(&[(0, R32G32_FLOAT, 0, TWO)])];
        let plain = bench.draw(1, false, [1, 0, 1, 0, 0]);
        let set = |at: usize, bit: u32| {
            let mut changed = plain.clone();
            let draw = changed.last_mut().unwrap();
            draw[at] |= 1 << bit;
            [&state[..], &changed].concat()
        };
        assert_eq!(bench.run(Vertices, &set(0, 0)), [(0, 8)], "a bit without a meaning");
        if bench.generation == 60 {
            assert_eq!(bench.run(Vertices, &set(0, 9)), [], "a number of vertices from elsewhere");
        } else {
            for (at, bit) in [(0, 8), (0, 10), (1, 9)] {
                assert_eq!(bench.run(Vertices, &set(at, bit)), [], "bit {bit} of dword {at}");
            }
        }
        if bench.generation >= 75 {
            // A predicate that is not known, and no predicate; then no state is known.
            bench.pipeline.depend(true);
            bench.pipeline.depend(false);
            assert_eq!(bench.run(Vertices, &plain), []);
            let all = [&state[..], &plain].concat();
            assert_eq!(bench.run(Vertices, &all), [(0, 8)]);
            bench.pipeline.depend(true);
            assert_eq!(bench.run(Vertices, &all), []);
            bench.pipeline.depend(false);
            bench.pipeline.stray();
            assert_eq!(bench.run(Vertices, &all), []);
        }
    });
}

#[test]
fn elements_that_the_fetcher_generates_or_packs_are_not_read() {
    for (name, generation) in PLATFORMS.into_iter().filter(|(_, generation)| *generation >= 80) {
        let mut bench = Bench::new(name, generation);
        let two = elements(&[(0, R32G32_FLOAT, 0, TWO), (0, R32G32_FLOAT, 16, TWO)]);
        let state = [bench.vertex_buffer(0, 0, 0x100, 32), two];
        let draw = bench.draw(1, false, [1, 0, 1, 0, 0]);
        let mut case = |command: Vec<u32>, expected: &[(u64, u64)]| {
            assert_eq!(bench.run(Vertices, &[&state[..], &[command], &draw].concat()), expected, "{name}");
        };
        // 3DSTATE_VF_SGVS: VertexID in element 0, InstanceID in element 1, neither.
        case(vec![0x784a_0000, 1 << 15], &[(16, 8)]);
        case(vec![0x784a_0000, (1 << 15 | 1) << 16], &[(0, 8)]);
        case(vec![0x784a_0000, 0], &[(0, 8), (16, 8)]);
        if generation >= 110 {
            case(vec![0x7856_0001, 0, 1 << 15 | 1], &[(0, 8)]);
            case(vec![0x7856_0001, 0, 0], &[(0, 8), (16, 8)]);
        }
        if generation >= 90 {
            case(vec![0x780c_0200, 0], &[]);
            case(vec![0x780c_0000, 0], &[(0, 8), (16, 8)]);
        }
    }
}

#[test]
fn instances_step_through_their_buffer() {
    each(|bench| {
        let mut buffer = bench.vertex_buffer(0, 0, 0x100, 16);
        let mut state = vec![elements(&[(0, R32G32_FLOAT, 0, TWO)])];
        if bench.is_wide() {
            // 3DSTATE_VF_INSTANCING of element 0, by two.
            state.push(vec![0x7849_0001, 1 << 8, 2]);
        } else {
            buffer[1] |= 1 << 20;
            buffer[4] = 2;
        }
        state.push(buffer);
        // Instances 3 to 7: steps 0, 0, 1, 1, 2 from element 3 on.
        let draw = bench.draw(1, false, [100, 9, 5, 3, 0]);
        let expected: Vec<_> = (3..6).map(|element| (16 * element, 8)).collect();
        assert_eq!(bench.run(Vertices, &[&state[..], &draw].concat()), expected, "{}", bench.generation);
    });
}

#[test]
fn indices_name_the_vertices() {
    each(|bench| {
        let state = [
            bench.vertex_buffer(0, 0x1000, 0x1000, 16),
            elements(&[(0, R32G32_FLOAT, 0, TWO)]),
            bench.index_buffer(1, 0x100, 18),
        ];
        // 16-bit indices from the second on: 7, 9, 8, a cut, 20 and 21, which are no triangle, another cut, 30.
        bench.write(0x100, &[7 << 16, 8 << 16 | 9, 20 << 16 | 0xffff, 0xffff << 16 | 21, 30]);
        let draw = bench.draw(TRILIST, true, [8, 1, 1, 0, 2_u32.wrapping_neg()]);
        let at = |vertex: u64| (0x1000 + 16 * vertex, 8);
        let off = match bench.generation {
            60 | 70 => vec![],
            _ => vec![vec![0x780c_0000, 0xffff]],
        };
        // Without cuts, 65535 is a vertex after the buffer's end, and two indices are no triangle.
        let plain = bench.run(Vertices, &[&state[..], &off, &draw].concat());
        assert_eq!(plain, [at(5), at(6), at(7), at(18), at(19)], "{}", bench.generation);
        let cuts = match bench.generation {
            60 | 70 => vec![[&[state[2][0] | 1 << 10], &state[2][1..]].concat()],
            _ => vec![vec![0x780c_0100, 0xffff]],
        };
        let cut = bench.run(Vertices, &[&cuts, &draw[..]].concat());
        assert_eq!(cut, [at(5), at(6), at(7)], "{}", bench.generation);
    });
}
