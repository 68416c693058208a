//! Instructions that are valid by an exception, beside those that the exception does not cover.

use intel_eu::{
    Condition, Instruction, Opcode, Place, Platform, Region, Rule, Source, Type, decode, validate,
};

use crate::build::{ACCUMULATOR, Build, INDIRECT, op};

use Type::{B, D, Df, F, Hf, Q, Ub, Ud, Uq, V, Vf, W};

fn rules(platform: Platform, instruction: &Instruction) -> Vec<Rule> {
    validate(platform, instruction).iter().map(|violation| violation.rule).collect()
}

fn copy(channels: u8, kind: Type, rows: (u8, u8, u8)) -> Instruction {
    op(Opcode::Mov, channels).to(kind, 1).from(kind, rows)
}

#[test]
fn operands_that_are_no_data_can_be_null() {
    // sync.nop null
    let sync = decode(Platform::Tgl, 0x00000000_00000000_00000000_00000101).unwrap();
    assert_eq!((sync.opcode, validate(Platform::Tgl, &sync)), (Opcode::Sync, vec![]));
    let unary = op(Opcode::Math, 8).to(F, 1).from(F, (8, 8, 1)).from(F, (0, 1, 0)).with(|i| {
        i.function = 1;
        *i.place(1) = Place::NULL;
    });
    assert_eq!(rules(Platform::Skl, &unary), []);
    assert_eq!(rules(Platform::Skl, &unary.with(|i| i.function = 10)), [Rule::NullSource]);
}

#[test]
fn destinations_that_are_no_data_can_be_packed_bytes() {
    // (W) sync.nop null {F@1}, of 8 channels, as in a shader of IGT's.
    let sync = decode(Platform::Mtl, 0x00000000_00000000_00010000_80031101).unwrap();
    assert_eq!((sync.opcode, sync.execution_size), (Opcode::Sync, 8));
    assert_eq!(rules(Platform::Mtl, &sync), []);
    for graphics in [Platform::Tgl, Platform::Dg2] {
        for (kind, stride) in [(Ub, 0), (Ub, 1), (D, 0), (Q, 2)] {
            let to = |opcode| op(opcode, 16).to(kind, stride).from(Ub, (0, 1, 0));
            assert_eq!(rules(graphics, &to(Opcode::Sync)), [], "{kind} {stride}");
            assert_eq!(rules(graphics, &to(Opcode::Ret)), [], "{kind} {stride}");
        }
        // That of an instruction that computes is checked.
        let not = op(Opcode::Not, 16).from(Ub, (16, 16, 1));
        assert_eq!(rules(graphics, &not.to(Ub, 1)), [Rule::PackedByte]);
        assert_eq!(rules(graphics, &not.to(W, 0)), [Rule::ZeroStride]);
    }
    let jump = op(Opcode::Jmpi, 1).to(D, 0).from(Ud, (0, 1, 0)).number(D);
    assert_eq!(rules(Platform::Skl, &jump), []);
    // Wait writes the notification register.
    assert_eq!(rules(Platform::Skl, &op(Opcode::Wait, 1).to(Ud, 0).from(Ud, (0, 1, 0))), [Rule::ZeroStride]);
}

#[test]
fn only_the_first_byte_of_an_accumulator_asks_for_a_stride() {
    let stored = |platform, place, stride| {
        rules(
            platform,
            &copy(8, W, (8, 8, 1))
                .with(|i| i.destination.as_mut().expect("it has one").place = place)
                .with(|i| i.stride(stride)),
        )
    };
    let at = |number, offset| Place::Direct { file: intel_eu::File::Architecture, number, offset };
    for (place, stride, expected) in [
        (at(0x20, 0), 1, vec![]),
        (at(0x20, 0), 2, vec![Rule::AccumulatorStride]),
        (at(0x20, 0), 4, vec![Rule::AccumulatorStride]),
        (at(0x21, 0), 2, vec![Rule::AccumulatorStride]),
        (at(0x20, 2), 2, vec![]),
        (at(0x10, 0), 2, vec![]),
        (Place::general(0x20), 2, vec![]),
    ] {
        assert_eq!(stored(Platform::Tgl, place, stride), expected, "{place:?} {stride}");
        for platform in [Platform::Icl, Platform::Skl, Platform::Dg2, Platform::Mtl] {
            assert_eq!(stored(platform, place, stride), [], "{platform} {place:?} {stride}");
        }
    }
    // The text of a mov, an add and a mul that break it.
    for text in [
        "mov (8|M0) acc0.0<2>:d r20.0<8;8,1>:d",
        "add (8|M0) acc0.0<2>:w r20.0<16;8,2>:w r21.0<16;8,2>:w",
        "mul (8|M0) acc0.0<2>:d r20.0<8;8,1>:d r21.0<16;8,2>:uw",
    ] {
        for platform in Platform::all().filter(|platform| platform.graphics() >= 110) {
            let i = intel_eu::text::parse(platform, text).unwrap();
            let expected = if platform.graphics() == 120 { vec![Rule::AccumulatorStride] } else { vec![] };
            assert_eq!(rules(platform, &i), expected, "{platform} {text}");
        }
    }
}

#[test]
fn destinations_of_branches_are_no_data() {
    assert_eq!(rules(Platform::Skl, &op(Opcode::Call, 16).to(D, 0)), []);
    assert_eq!(rules(Platform::Skl, &op(Opcode::Mov, 16).to(D, 0).number(D)), [Rule::ZeroStride]);
}

#[test]
fn only_a_null_destination_can_have_a_stride_of_zero() {
    let mov = |place| {
        op(Opcode::Mov, 8)
            .to(Ub, 0)
            .from(Ub, (8, 8, 1))
            .with(|i| i.destination.as_mut().expect("it has one").place = place)
    };
    for platform in [Platform::Bxt, Platform::Glk, Platform::Dg2] {
        assert_eq!(rules(platform, &mov(Place::NULL)), [], "{platform}");
        assert_eq!(rules(platform, &mov(Place::general(10))), [Rule::ZeroStride], "{platform}");
    }
}

#[test]
fn rules_for_regions_are_those_of_align1() {
    let upper = |kind| {
        copy(4, kind, (4, 4, 1)).with(|i| {
            *i.place(0) = Place::Direct { file: intel_eu::File::General, number: 2, offset: 16 };
        })
    };
    assert_eq!(rules(Platform::Skl, &upper(Df)), [Rule::RowCrossing]);
    assert_eq!(rules(Platform::Skl, &upper(Df).align16()), []);
}

#[test]
fn only_64_bit_operations_need_their_dependencies() {
    for (kind, expected) in [(F, vec![]), (Df, vec![Rule::LongDependency])] {
        let mov = copy(4, kind, (4, 4, 1)).with(|i| i.order.no_clear = true);
        assert_eq!(rules(Platform::Chv, &mov), expected, "{kind}");
    }
}

#[test]
fn ivy_bridge_counts_double_floats_as_two() {
    let eight = copy(8, Df, (8, 8, 1));
    let narrowed = op(Opcode::Mov, 8).to(F, 1).from(Df, (8, 8, 1));
    for mov in [eight, narrowed] {
        assert_eq!(rules(Platform::Ivb, &mov), [], "{mov:?}");
    }
    assert_eq!(rules(Platform::Hsw, &eight), [Rule::RowCrossing]);
    assert!(rules(Platform::Hsw, &narrowed).contains(&Rule::DestinationStride));
}

#[test]
fn meteor_lake_has_double_floats_but_no_quadwords() {
    assert_eq!(rules(Platform::Mtl, &copy(4, Df, (4, 4, 1))), []);
    assert_eq!(rules(Platform::Dg2, &copy(4, Df, (4, 4, 1))), [Rule::Double; 2]);
    assert_eq!(rules(Platform::Mtl, &copy(4, Q, (4, 4, 1))), [Rule::Quadword; 2]);
}

#[test]
fn movs_of_bytes_up_to_the_sign_copy_bits() {
    let mov = |to: Type, stride, from| op(Opcode::Mov, 8).to(to, stride).from(from, (8, 8, 1));
    for (from, expected) in [(B, vec![]), (Ub, vec![]), (W, vec![Rule::PackedByte])] {
        assert_eq!(rules(Platform::Skl, &mov(Ub, 1, from)), expected, "{from}");
    }
    assert_eq!(rules(Platform::Skl, &op(Opcode::Mov, 1).to(B, 1).from(W, (0, 1, 0))), [], "one channel");
    // A copy may have any stride; a conversion has that of the execution type.
    assert_eq!(rules(Platform::Skl, &mov(B, 4, B)), []);
    assert_eq!(rules(Platform::Skl, &mov(B, 4, W)), [Rule::DestinationStride]);
    let vector = op(Opcode::Mov, 8).to(D, 1).number(V);
    assert_eq!(rules(Platform::Skl, &vector), [Rule::IntegerVectorStride]);
}

#[test]
fn the_execution_type_is_the_widest() {
    let integers = [(B, 2), (Ub, 2), (W, 2), (D, 4), (Ud, 4), (Q, 8), (Uq, 8)];
    let floats = [(F, 4), (Df, 8)];
    let all = integers.iter().flat_map(|one| integers.map(|two| (*one, two)));
    let all = all.chain(floats.iter().flat_map(|one| floats.map(|two| (*one, two))));
    for ((first, bytes), (second, more)) in all {
        let size = bytes.max(more);
        for stride in [1, 2, 4] {
            let add = op(Opcode::Add, 2).to(W, stride).from(first, (2, 2, 1)).from(second, (2, 2, 1));
            let is_broken = rules(Platform::Skl, &add).contains(&Rule::DestinationStride);
            assert_eq!(is_broken, size > 2 && stride * 2 != size, "{first} + {second}, stride {stride}");
        }
    }
}

#[test]
fn mixed_floats_are_computed_as_floats() {
    // The destination alone, or one of the sources, is a float: on Broadwell that asks for room.
    for (to, sources) in [(Hf, [F, Hf]), (Hf, [Hf, F]), (Hf, [F, F])] {
        let add = op(Opcode::Add, 4).to(to, 1).from(sources[0], (4, 4, 1)).from(sources[1], (4, 4, 1));
        assert_eq!(rules(Platform::Bdw, &add), [Rule::DestinationStride], "{sources:?}");
        assert_eq!(rules(Platform::Skl, &add), [], "{sources:?}");
    }
    let vector = op(Opcode::Mov, 4).to(F, 1).number(Vf);
    assert_eq!(rules(Platform::Skl, &vector), []);
}

#[test]
fn scalars_are_free_of_the_rules_for_regions() {
    let scalar = copy(4, Df, (0, 1, 0)).with(|i| i.offset(0));
    let moved =
        scalar.with(|i| *i.place(0) = Place::Direct { file: intel_eu::File::General, number: 2, offset: 8 });
    for platform in [Platform::Chv, Platform::Glk, Platform::Mtl] {
        assert_eq!(rules(platform, &moved), [], "{platform}");
    }
    assert_eq!(rules(Platform::Hsw, &copy(16, F, (0, 1, 0))), []);
}

#[test]
fn products_of_doublewords_are_of_64_bits_on_low_power_platforms() {
    let mul = |kind: Type| op(Opcode::Mul, 8).to(D, 1).from(D, (8, 8, 1)).from(kind, (8, 8, 1));
    assert_eq!(rules(Platform::Chv, &mul(D)), [Rule::LongStride; 2]);
    assert_eq!(rules(Platform::Chv, &mul(W)), []);
    assert_eq!(rules(Platform::Bdw, &mul(D)), []);
    let add = op(Opcode::Add, 8).to(D, 1).from(D, (8, 8, 1)).from(D, (8, 8, 1));
    assert_eq!(rules(Platform::Chv, &add), []);
}

#[test]
fn linear_regions_are_those_whose_elements_do_not_overlap() {
    for (rows, expected) in [((1, 1, 0), vec![]), ((4, 4, 1), vec![]), ((2, 4, 1), vec![Rule::MovedLanes])] {
        assert_eq!(rules(Platform::Dg2, &copy(8, F, rows)), expected, "{rows:?}");
    }
    // Its stride is right, but not that of its rows.
    assert_eq!(rules(Platform::Chv, &copy(4, Df, (1, 1, 0))), [Rule::LongRows]);
}

#[test]
fn groups_of_align16_are_two_or_four_elements_apart() {
    for (vertical, on_ivb, on_hsw) in [(0, true, true), (2, false, true), (4, true, true), (8, false, false)]
    {
        let mov = copy(8, F, (4, 4, 1)).align16().with(|i| {
            if let Some(Source::Register { region, .. }) = &mut i.sources[0] {
                *region = Region::Groups { vertical: Some(vertical), swizzle: 0xe4 };
            }
        });
        for (platform, is_valid) in [(Platform::Ivb, on_ivb), (Platform::Hsw, on_hsw)] {
            let expected = if is_valid { vec![] } else { vec![Rule::Align16Groups] };
            assert_eq!(rules(platform, &mov), expected, "{platform} {vertical}");
        }
    }
}

#[test]
fn packed_words_are_expanded_to_doublewords() {
    let mov = |to, stride, rows| op(Opcode::Mov, 16).to(to, stride).from(W, rows);
    for (to, stride, rows, expected) in [
        (D, 1, (16, 16, 1), vec![]),
        (F, 1, (8, 8, 1), vec![]),
        (D, 1, (1, 1, 0), vec![]),
        (D, 1, (0, 8, 1), vec![Rule::SourceInOneRegister]),
        (W, 2, (16, 16, 1), vec![Rule::SourceInOneRegister]),
    ] {
        assert_eq!(rules(Platform::Hsw, &mov(to, stride, rows)), expected, "{to} {stride} {rows:?}");
    }
}

#[test]
fn packed_half_floats_are_aligned_and_packed_bytes_are_copies() {
    let half = op(Opcode::Mov, 8).to(Hf, 1).from(F, (8, 8, 1)).with(|i| i.offset(8));
    assert_eq!(rules(Platform::Skl, &half), [Rule::HalfWords, Rule::MixedPackedAlignment]);
    let byte = op(Opcode::Mov, 8).to(B, 1).from(Hf, (8, 8, 1));
    assert_eq!(rules(Platform::Skl, &byte), [Rule::PackedByte]);
}

#[test]
fn long_products_and_wide_factors_can_be_modified() {
    let mul = |to, from| op(Opcode::Mul, 2).to(to, 1).from(D, (2, 2, 1)).from(from, (2, 2, 1));
    let saturate = |i: &mut Instruction| i.saturate = true;
    assert_eq!(rules(Platform::Skl, &mul(Q, D).with(saturate)), []);
    assert_eq!(rules(Platform::Skl, &mul(D, D).with(saturate)), [Rule::ProductModifier]);
    let negated = |number| mul(D, W).with(|i| negate(i, number));
    assert_eq!(rules(Platform::Tgl, &negated(0)), []);
    assert_eq!(rules(Platform::Tgl, &negated(1)), [Rule::ProductSourceModifier]);
}

fn negate(i: &mut Instruction, number: usize) {
    if let Some(Source::Register { negate, .. }) = &mut i.sources[number] {
        *negate = true;
    }
}

#[test]
fn rows_with_addresses_are_of_integers_up_to_doublewords() {
    for (kind, expected) in [(D, vec![]), (W, vec![]), (F, vec![Rule::RowAddresses])] {
        assert_eq!(rules(Platform::Dg2, &addressed(kind)), expected, "{kind}");
    }
    assert!(rules(Platform::Mtl, &addressed(Q)).contains(&Rule::RowAddresses));
}

fn addressed(kind: Type) -> Instruction {
    copy(4, kind, (0, 1, 0)).with(|i| {
        *i.place(0) = INDIRECT;
        if let Some(Source::Register { region, .. }) = &mut i.sources[0] {
            *region = Region::Rows { vertical: None, width: 1, horizontal: 0 };
        }
    })
}

#[test]
fn accumulating_operations_read_the_accumulator() {
    for (opcode, expected) in [(Opcode::Add, vec![]), (Opcode::Mac, vec![Rule::MixedAccumulatorStride])] {
        let mixed = op(opcode, 8).to(Hf, 1).from(F, (8, 8, 1)).from(F, (8, 8, 1));
        assert_eq!(rules(Platform::Skl, &mixed), expected, "{opcode}");
    }
    let mac = op(Opcode::Mac, 2).to(Df, 1).from(Df, (2, 2, 1)).from(Df, (2, 2, 1));
    assert_eq!(rules(Platform::Chv, &mac), [Rule::LongArchitecture]);
    let float = op(Opcode::Mov, 8).to(F, 1).from(F, (8, 8, 1)).with(|i| *i.place(0) = ACCUMULATOR);
    assert_eq!(rules(Platform::Dg2, &float), []);
}

#[test]
fn what_only_run_time_tells_is_taken_as_right() {
    let mov = op(Opcode::Mov, 8).to(W, 2).from(D, (8, 8, 1)).with(|i| *i.place(0) = INDIRECT);
    assert_eq!(rules(Platform::Skl, &mov), []);
    let compare = op(Opcode::Cmp, 8).to(F, 1).from(F, (8, 8, 1)).from(F, (8, 8, 1)).with(|i| {
        i.condition = Some(Condition::Zero);
        *i.place(1) = INDIRECT;
    });
    assert_eq!(rules(Platform::Skl, &compare), []);
}
