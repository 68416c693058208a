//! Native floats, which only accumulators have, and brain floats.

use intel_eu::{Destination, File, Instruction, Opcode, Place, Platform, Rule, Type, validate};

use crate::build::{ACCUMULATOR, Build, FLAGS, decide, op, send};

use Type::{Bf, F, Hf, Nf};

fn rules(platform: Platform, instruction: &Instruction) -> Vec<Rule> {
    validate(platform, instruction).iter().map(|violation| violation.rule).collect()
}

fn mad(channels: u8, to: Type, sources: [Type; 3]) -> Instruction {
    let [first, second, third] = sources;
    op(Opcode::Mad, channels).to(to, 1).from(first, (8, 8, 1)).from(second, (8, 8, 1)).from(third, (1, 1, 1))
}

fn at(number: u8, offset: u8) -> Place {
    Place::Direct { file: File::General, number, offset }
}

fn to(change: impl Fn(&mut Destination)) -> impl Fn(&mut Instruction) {
    move |i| change(i.destination.as_mut().expect("it has a destination"))
}

#[test]
fn native_floats_are_in_accumulators() {
    let second = Place::Direct { file: File::Architecture, number: 0x21, offset: 0 };
    for (place, expected) in [
        (ACCUMULATOR, vec![]),
        (second, vec![]),
        (Place::NULL, vec![]),
        (at(10, 0), vec![Rule::NativeFloat]),
        (FLAGS, vec![Rule::NativeFloat]),
    ] {
        let product = mad(8, Nf, [F; 3]).with(to(|one| one.place = place));
        for platform in [Platform::Icl, Platform::Tgl, Platform::Dg2] {
            assert_eq!(rules(platform, &product), expected, "{platform} {place:?}");
        }
        // The same place has floats.
        assert_eq!(rules(Platform::Icl, &product.with(to(|one| one.kind = F))), [], "{place:?}");
        for number in 0..3 {
            let sum = mad(8, F, [F; 3]).with(|i| {
                *i.kind(number) = Nf;
                *i.place(number) = place;
            });
            assert_eq!(rules(Platform::Jsl, &sum), expected, "source {number}: {place:?}");
        }
    }
    // On platforms without the type, that is what is wrong.
    let copy = op(Opcode::Mov, 4).to(Nf, 1).from(Nf, (4, 4, 1)).with(|i| *i.place(0) = ACCUMULATOR);
    let copy = copy.with(to(|one| one.place = ACCUMULATOR));
    assert_eq!(rules(Platform::Icl, &copy), []);
    assert_eq!(rules(Platform::Skl, &copy), [Rule::TypeCode; 2]);
}

#[test]
fn brain_floats_are_computed_with_others() {
    for (kinds, expected) in [
        ([F, F, F, F], vec![]),
        ([F, Bf, F, F], vec![]),
        ([F, F, Bf, F], vec![]),
        ([F, Bf, Bf, F], vec![]),
        ([Bf, F, F, F], vec![]),
        ([Bf, Bf, Bf, F], vec![]),
        ([F, F, F, Bf], vec![Rule::BrainFactor]),
        ([F, Bf, Bf, Bf], vec![Rule::BrainFactor]),
        ([Bf, F, Bf, Bf], vec![Rule::BrainFactor]),
        ([Bf, Bf, Bf, Bf], vec![Rule::BrainFloat, Rule::BrainFactor]),
    ] {
        let product = mad(8, kinds[0], [kinds[1], kinds[2], kinds[3]]);
        assert_eq!(rules(Platform::Dg2, &product), expected, "{kinds:?}");
        let mut wide = expected.clone();
        if kinds.contains(&Bf) {
            wide.insert(
                expected.iter().take_while(|rule| **rule == Rule::BrainFloat).count(),
                Rule::BrainSize,
            );
        }
        assert_eq!(rules(Platform::Dg2, &product.with(|i| i.execution_size = 16)), wide, "{kinds:?}");
    }
    // Half floats have no such rules, and only mad has factors.
    assert_eq!(rules(Platform::Dg2, &mad(16, Hf, [Hf; 3])), []);
    let chosen = mad(8, F, [F, F, Bf]).with(|i| {
        i.opcode = Opcode::Csel;
        i.condition = decide(Opcode::Csel, 8).condition;
    });
    assert_eq!(rules(Platform::Dg2, &chosen), [Rule::CselSources]);
}

#[test]
fn brain_floats_of_a_source_are_side_by_side() {
    for (rows, channels, is_right) in [
        ((8, 8, 1), 8, true),
        ((4, 4, 1), 8, true),
        ((1, 1, 0), 8, true),
        ((2, 2, 1), 8, true),
        ((0, 1, 0), 8, false),
        ((0, 1, 0), 2, false),
        ((0, 1, 0), 1, true),
        ((2, 1, 0), 8, false),
        ((8, 4, 2), 8, false),
        ((8, 2, 1), 2, true),
        ((8, 2, 1), 4, false),
    ] {
        let product = mad(channels, F, [Bf, F, F]).with(|i| i.rows(0, rows));
        let expected = if is_right { vec![] } else { vec![Rule::BrainSource] };
        assert_eq!(rules(Platform::Dg2, &product), expected, "{rows:?} {channels}");
        assert_eq!(rules(Platform::Dg2, &product.with(|i| *i.kind(0) = F)), [], "{rows:?} {channels}");
    }
    for offset in 0..32 {
        let product = mad(8, F, [Bf, F, F]).with(|i| *i.place(0) = at(2, offset));
        let expected = if offset % 16 == 0 { vec![] } else { vec![Rule::BrainSource] };
        assert_eq!(rules(Platform::Mtl, &product), expected, "{offset}");
    }
}

#[test]
fn brain_floats_are_written_side_by_side_or_in_every_second_word() {
    for stride in [1, 2, 4] {
        for offset in 0..32 {
            let product = mad(8, Bf, [F; 3]).with(|i| {
                i.stride(stride);
                i.offset(offset);
            });
            let is_right = matches!((stride, offset), (1, 0 | 16) | (2, 0 | 2));
            let expected = if is_right { vec![] } else { vec![Rule::BrainResult] };
            assert_eq!(rules(Platform::Dg2, &product), expected, "stride {stride}, byte {offset}");
            assert_eq!(rules(Platform::Dg2, &product.with(to(|one| one.kind = F))), [], "{stride} {offset}");
        }
    }
}

/// Instructions with one or two sources have no code for brain floats; a driver may validate before it encodes.
#[test]
fn brain_floats_have_their_rules_whatever_the_number_of_sources() {
    let mov = |channels, to, from| op(Opcode::Mov, channels).to(to, 2).from(from, (8, 8, 1));
    for (instruction, rule) in [
        (mov(8, Bf, Bf), Rule::BrainFloat),
        (mov(16, Bf, F), Rule::BrainSize),
        (mov(8, F, Bf).with(|i| *i.place(0) = at(2, 8)), Rule::BrainSource),
        (mov(8, Bf, F).with(|i| i.stride(4)), Rule::BrainResult),
    ] {
        let of_brain_floats = |found: &[Rule]| -> Vec<Rule> {
            let all = [Rule::BrainFloat, Rule::BrainSize, Rule::BrainSource, Rule::BrainResult];
            all.into_iter().filter(|rule| found.contains(rule)).collect()
        };
        assert_eq!(of_brain_floats(&rules(Platform::Dg2, &instruction)), [rule]);
        assert_eq!(of_brain_floats(&rules(Platform::Dg2, &mov(8, Bf, F))), []);
    }
    // The types of a message are not computed with.
    for kind in [Nf, Bf] {
        let message = send(Opcode::Send, 10, 0).with(|i| {
            i.execution_size = 16;
            i.offset(8);
            i.every_kind(kind);
        });
        assert_eq!(rules(Platform::Skl, &message), [], "{kind}");
    }
}

#[test]
fn violations_name_the_values() {
    let place = |number: usize, place| move |i: &mut Instruction| *i.place(number) = place;
    for (product, operand, found) in [
        (mad(8, Nf, [F; 3]), "destination", "type nf"),
        (mad(8, Bf, [Bf; 3]), "instruction", "all of type bf"),
        (mad(16, F, [Bf, F, F]), "instruction", "16 channels"),
        (mad(8, F, [F, F, Bf]), "source 2", "type bf"),
        (mad(8, F, [F, Bf, F]).with(place(1, at(4, 8))), "source 1", "region <8;8,1> at byte 8"),
        (mad(8, Bf, [F; 3]).with(|i| i.stride(4)), "destination", "stride 4 at byte 0"),
    ] {
        let violations = validate(Platform::Dg2, &product);
        let named = violations.iter().any(|one| one.operand.to_string() == operand && one.found == found);
        assert!(named, "{operand}: {found}: {violations:?}");
    }
}
