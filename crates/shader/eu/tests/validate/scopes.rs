//! Instructions that a rule is not for, or is for all the same: one channel, Align16, three sources, two payloads, other
//! opcodes, other types.

use intel_eu::{
    Condition, Descriptor, File, Instruction, Message, Opcode, Place, Platform, Region, Rule, Source,
    Systolic, Type, validate,
};

use crate::build::{ACCUMULATOR, Build, FLAGS, INDIRECT, PREDICATE, Rows, op, send};

use Platform::{Bdw, Chv, Dg2, Hsw, Icl, Ivb, Mtl, Skl, Tgl};
use Type::{B, D, Df, F, Hf, Q, V, Vf, W};

const EIGHT: Rows = (8, 8, 1);
const FOUR: Rows = (4, 4, 1);
const ONE: Rows = (0, 1, 0);

fn rules(platform: Platform, instruction: &Instruction) -> Vec<Rule> {
    validate(platform, instruction).iter().map(|violation| violation.rule).collect()
}

fn valid<const N: usize>(some: [(Platform, Instruction); N]) {
    for (platform, instruction) in some {
        assert_eq!(rules(platform, &instruction), [], "{platform} {instruction:#?}");
    }
}

/// Checks that each instruction breaks a rule, perhaps among others.
fn breaks<const N: usize>(some: [(Platform, Rule, Instruction); N]) {
    for (platform, rule, instruction) in some {
        let found = rules(platform, &instruction);
        assert!(found.contains(&rule), "{platform} {rule:?}: {found:?}: {instruction:#?}");
    }
}

/// Checks that each instruction keeps a rule, perhaps not others.
fn keeps<const N: usize>(some: [(Platform, Rule, Instruction); N]) {
    for (platform, rule, instruction) in some {
        let found = rules(platform, &instruction);
        assert!(!found.contains(&rule), "{platform} {rule:?}: {found:?}: {instruction:#?}");
    }
}

fn mov(channels: u8, destination: (Type, u8), source: (Type, Rows)) -> Instruction {
    op(Opcode::Mov, channels).to(destination.0, destination.1).from(source.0, source.1)
}

fn two(opcode: Opcode, destination: Type, sources: [Type; 2]) -> Instruction {
    op(opcode, 8).to(destination, 1).from(sources[0], EIGHT).from(sources[1], EIGHT)
}

fn three(channels: u8, kind: Type) -> Instruction {
    op(Opcode::Mad, channels).to(kind, 1).from(kind, EIGHT).from(kind, EIGHT).from(kind, (1, 1, 1))
}

fn root(destination: Type, source: Type) -> Instruction {
    op(Opcode::Math, 8).to(destination, 1).from(source, EIGHT).with(|i| i.function = 4)
}

/// Moves the source to an accumulator, from a byte on.
fn accumulator(byte: u8) -> impl Fn(&mut Instruction) {
    move |i| *i.place(0) = Place::Direct { file: File::Architecture, number: 0x20, offset: byte }
}

fn to(place: Place) -> impl Fn(&mut Instruction) {
    move |i| i.destination.as_mut().expect("it has a destination").place = place
}

fn from(byte: u8) -> impl Fn(&mut Instruction) {
    move |i| *i.place(0) = Place::Direct { file: File::General, number: 2, offset: byte }
}

fn negated(number: usize) -> impl Fn(&mut Instruction) {
    move |i| {
        if let Some(Source::Register { negate, .. }) = &mut i.sources[number] {
            *negate = true;
        }
    }
}

/// Gives the rows of the source addresses of their own, or its groups a distance.
fn vertical(vertical: Option<u8>) -> impl Fn(&mut Instruction) {
    move |i| {
        if let Some(Source::Register { region: old, .. }) = &mut i.sources[0] {
            *old = match *old {
                Region::Groups { swizzle, .. } => Region::Groups { vertical, swizzle },
                Region::Rows { .. } | Region::Payload => Region::Rows { vertical, width: 1, horizontal: 0 },
            };
        }
    }
}

#[test]
fn one_channel_is_free_of_the_rules_for_conversions_only() {
    valid([
        (Skl, mov(1, (Hf, 1), (W, ONE)).with(|i| i.offset(2))),
        (Skl, mov(1, (W, 1), (Hf, ONE)).with(|i| i.offset(2))),
        (Skl, mov(1, (Q, 1), (B, ONE))),
        (Skl, mov(1, (Df, 1), (Hf, ONE))),
    ]);
    breaks([
        (Skl, Rule::NullSource, mov(1, (D, 1), (D, ONE)).with(|i| *i.place(0) = Place::NULL)),
        (Skl, Rule::OneRow, mov(1, (D, 1), (D, (2, 1, 1)))),
        (Skl, Rule::NarrowRow, mov(1, (D, 1), (D, (1, 1, 1)))),
        (Skl, Rule::RepeatedElement, mov(1, (D, 1), (D, (0, 2, 0)))),
        (Skl, Rule::VectorAlignment, op(Opcode::Mov, 1).to(W, 1).number(V).with(|i| i.offset(4))),
        (Skl, Rule::FloatVectorStride, op(Opcode::Mov, 1).to(F, 2).number(Vf)),
        (Skl, Rule::IntegerVectorStride, op(Opcode::Mov, 1).to(D, 1).number(V)),
        (
            Dg2,
            Rule::RowAddresses,
            mov(1, (F, 1), (F, ONE)).with(|i| *i.place(0) = INDIRECT).with(vertical(None)),
        ),
    ]);
    assert_eq!(rules(Skl, &mov(1, (D, 1), (D, (2, 2, 1)))), [Rule::Width]);
}

#[test]
fn align16_has_rules_of_its_own() {
    let upper = two(Opcode::Add, F, [F, F]).align16().with(|i| {
        i.offset(4);
        *i.place(0) = Place::Direct { file: File::General, number: 2, offset: 16 };
        *i.place(1) = Place::Direct { file: File::General, number: 4, offset: 16 };
    });
    valid([
        (Hsw, upper),
        (Skl, mov(4, (F, 1), (F, FOUR)).align16().with(vertical(Some(0)))),
        (Skl, mov(16, (Df, 1), (Df, FOUR)).align16()),
        (Skl, mov(16, (F, 1), (F, FOUR)).align16()),
        (Skl, mov(8, (F, 1), (F, FOUR)).align16().with(accumulator(0))),
        (Skl, three(8, F).align16().with(vertical(Some(0)))),
        (Skl, two(Opcode::Mul, D, [D, D]).align16()),
        (Chv, mov(2, (Df, 1), (Df, FOUR)).align16().with(vertical(Some(0)))),
        (Chv, mov(2, (Df, 1), (Df, FOUR)).align16().with(from(16))),
    ]);
    breaks([
        (Skl, Rule::MixedFloatSize, mov(16, (F, 1), (Hf, FOUR)).align16()),
        (Skl, Rule::FloatVectorStride, op(Opcode::Mov, 4).to(W, 1).number(Vf).with(|i| i.align16 = true)),
        (Skl, Rule::IntegerVectorStride, op(Opcode::Mov, 8).to(D, 1).number(V).with(|i| i.align16 = true)),
    ]);
    keeps([(Skl, Rule::MixedMath, root(F, Hf).align16())]);
}

#[test]
fn mixed_floats_are_floats_and_half_floats() {
    valid([
        (Skl, mov(16, (F, 1), (F, EIGHT))),
        (Skl, mov(16, (Hf, 1), (Hf, EIGHT))),
        (Skl, mov(8, (Hf, 1), (Hf, EIGHT)).with(accumulator(4))),
        (Skl, mov(4, (Hf, 2), (F, FOUR)).with(accumulator(4))),
        (Skl, mov(8, (F, 1), (Hf, EIGHT)).with(accumulator(0))),
        (Skl, root(Hf, Hf)),
        (Skl, mov(4, (Hf, 1), (F, FOUR)).with(|i| i.offset(16))),
        (Skl, mov(8, (Hf, 1), (F, EIGHT)).with(to(INDIRECT))),
        (Icl, three(16, F).with(|i| *i.kind(0) = Hf)),
    ]);
    let integer = op(Opcode::Add, 4).to(Hf, 1).from(W, FOUR).from(F, FOUR).with(accumulator(4));
    keeps([(Skl, Rule::MixedMath, root(Hf, F)), (Skl, Rule::MixedAccumulatorOffset, integer)]);
    let vector = op(Opcode::Add, 8).to(Hf, 1).from(Hf, EIGHT).number(Vf);
    breaks([
        (Skl, Rule::HalfWords, mov(4, (Hf, 1), (Df, FOUR))),
        (Skl, Rule::DestinationStride, vector),
        (Skl, Rule::FloatVectorStride, op(Opcode::Mov, 4).to(D, 2).number(Vf)),
    ]);
    valid([(Skl, op(Opcode::Mov, 8).to(W, 1).number(V).with(|i| i.offset(16)))]);
}

#[test]
fn rules_for_64_bits_are_for_operands_of_64_bits() {
    valid([
        (Chv, mov(4, (F, 1), (F, (1, 2, 1)))),
        (Chv, mov(4, (F, 1), (F, FOUR)).with(to(INDIRECT))),
        (Chv, mov(4, (D, 1), (D, FOUR)).with(to(INDIRECT))),
        (Chv, three(4, Df).align16().with(|i| i.order.no_clear = true)),
        (Chv, op(Opcode::Wait, 1).to(Df, 1).with(|i| i.order.no_clear = true)),
        (Dg2, mov(8, (D, 1), (D, EIGHT)).with(|i| *i.place(0) = FLAGS)),
        (Dg2, mov(8, (D, 1), (D, EIGHT)).with(to(FLAGS))),
    ]);
    let addressed = mov(4, (Df, 1), (Df, ONE)).with(|i| *i.place(0) = INDIRECT).with(vertical(None));
    breaks([
        (Chv, Rule::LongDependency, mov(4, (F, 2), (Df, FOUR)).with(|i| i.order.no_clear = true)),
        (Chv, Rule::LongStride, addressed),
        (Ivb, Rule::DestinationStride, mov(4, (W, 2), (Df, FOUR))),
        (Mtl, Rule::MovedLanes, mov(4, (D, 2), (Df, FOUR)).with(|i| i.offset(4))),
        (Dg2, Rule::MovedLanes, mov(8, (F, 2), (F, (2, 2, 0)))),
        (Dg2, Rule::MovedLanes, mov(8, (F, 1), (F, (2, 1, 1)))),
        (Icl, Rule::Double, three(4, Df)),
        (Icl, Rule::Quadword, three(4, Q)),
    ]);
}

#[test]
fn rules_of_an_opcode_are_not_for_others() {
    let add = two(Opcode::Add, D, [D, D]);
    let sum = two(Opcode::Add, F, [F, F]);
    valid([
        (Hsw, sum.with(to(ACCUMULATOR))),
        (Hsw, sum.with(to(Place::NULL))),
        (Hsw, sum.with(accumulator(0))),
        (Hsw, two(Opcode::Add, F, [D, D])),
        (Bdw, add.with(to(ACCUMULATOR))),
        (Skl, add.with(|i| i.condition = Some(Condition::Overflow))),
        (Skl, add.with(accumulator(0)).with(negated(0))),
        (Skl, two(Opcode::Add, D, [W, D])),
        (Tgl, two(Opcode::Add, D, [D, W]).with(negated(1))),
        (Tgl, add.with(accumulator(0)).with(|i| *i.place(1) = ACCUMULATOR)),
        (Skl, two(Opcode::Mul, W, [W, W])),
        (Skl, two(Opcode::Mul, F, [D, W]).with(|i| i.saturate = true)),
        (Tgl, two(Opcode::Mul, W, [W, W]).with(negated(1))),
    ]);
    breaks([
        (Skl, Rule::PackedByte, two(Opcode::Add, B, [B, B])),
        (Tgl, Rule::ChannelOffset, op(Opcode::If, 16).with(|i| i.channel_offset = 8)),
    ]);
    keeps([(
        Icl,
        Rule::DestinationStride,
        three(8, D).with(|i| i.destination.as_mut().expect("it has one").kind = W),
    )]);
}

#[test]
fn elements_are_counted_from_the_first_byte_of_an_oword_and_a_register() {
    valid([
        (Skl, mov(8, (D, 1), (D, (4, 2, 0)))),
        (Bdw, mov(2, (W, 1), (W, (16, 1, 0))).with(|i| i.offset(16))),
        (Bdw, mov(4, (B, 1), (B, (16, 1, 0))).with(|i| i.offset(14))),
        (Bdw, mov(4, (B, 1), (B, (16, 1, 0))).with(|i| i.offset(16))),
        (Hsw, op(Opcode::Add, 16).to(W, 2).from(B, (4, 1, 0)).from(B, ONE)),
        (Hsw, mov(16, (D, 1), (W, (2, 2, 1)))),
    ]);
    breaks([
        (Hsw, Rule::SourceInOneRegister, mov(8, (D, 2), (W, EIGHT))),
        (Hsw, Rule::SourceInOneRegister, mov(8, (Df, 1), (W, EIGHT))),
        (Hsw, Rule::SourceInOneRegister, mov(16, (D, 1), (W, (2, 2, 0)))),
    ]);
    let addressed = mov(8, (D, 1), (D, ONE)).with(vertical(None)).with(from(2));
    keeps([(Skl, Rule::RowCrossing, addressed)]);
}

/// The rules see instructions that no bits stand for, too: a driver may validate before it encodes.
#[test]
fn instructions_without_an_encoding_have_rules_all_the_same() {
    let one = send(Opcode::Send, 10, 0);
    let groups = mov(8, (Hf, 1), (F, FOUR)).align16();
    let as_align16 = |i: &mut Instruction| i.align16 = true;
    let addressed = mov(8, (F, 1), (F, ONE)).with(vertical(None));
    breaks([
        (Hsw, Rule::Existence, send(Opcode::Sends, 10, 0)),
        (Icl, Rule::AccessMode, one.with(as_align16)),
        (Skl, Rule::MissingSource, one.with(|i| i.sources[0] = None)),
        (Skl, Rule::ZeroStride, one.with(|i| i.stride(0))),
        (Skl, Rule::MixedIndirect, groups.with(|i| *i.place(0) = INDIRECT)),
        (
            Skl,
            Rule::VectorAlignment,
            op(Opcode::Mov, 8).to(W, 1).number(V).with(as_align16).with(|i| i.offset(4)),
        ),
        (Dg2, Rule::RowAddresses, addressed.with(as_align16)),
        (Hsw, Rule::SourceInOneRegister, mov(16, (F, 1), (Hf, (16, 16, 1)))),
    ]);
    let vector = three(8, W).with(|i| i.sources[0] = Some(Source::Immediate { kind: V, bits: 0 }));
    let floats = vector.with(|i| i.sources[0] = Some(Source::Immediate { kind: Vf, bits: 0 }));
    let dot = three(8, D).with(|i| {
        i.opcode = Opcode::Dp4a;
        *i.place(0) = ACCUMULATOR;
        i.sources[1] = Some(Source::Immediate { kind: D, bits: 0 });
    });
    let both = send(Opcode::Sends, 10, 0);
    keeps([
        (Skl, Rule::TypeCode, one.to(V, 1)),
        (Icl, Rule::Double, one.to(Df, 1)),
        (Icl, Rule::Quadword, one.to(Q, 1)),
        (Icl, Rule::ByteSource, both.with(|i| *i.kind(1) = B)),
        (Skl, Rule::SendIndirect, both.with(|i| *i.place(0) = INDIRECT)),
        (Icl, Rule::NullSource, three(8, D).with(|i| *i.place(0) = Place::NULL)),
        (Skl, Rule::Align16Stride, three(8, F).align16().with(|i| i.stride(2))),
        (Skl, Rule::ZeroStride, groups.with(|i| i.stride(0))),
        (Skl, Rule::Align16Stride, groups.with(to(Place::NULL)).with(|i| i.stride(2))),
        (Skl, Rule::NarrowRow, mov(8, (D, 1), (D, (1, 1, 1))).with(as_align16)),
        (Skl, Rule::OneElement, mov(1, (D, 1), (D, (1, 1, 0))).with(as_align16)),
        (Skl, Rule::RepeatedElement, mov(8, (D, 1), (D, (0, 4, 0))).with(as_align16)),
        (Bdw, Rule::OwordSplit, mov(8, (W, 1), (W, (16, 4, 4))).with(as_align16).with(|i| i.offset(4))),
        (Skl, Rule::MixedPackedAlignment, groups.with(|i| i.offset(8))),
        (Skl, Rule::MixedAccumulatorOffset, groups.with(accumulator(4))),
        (Tgl, Rule::VectorAlignment, vector.with(|i| i.offset(4))),
        (Tgl, Rule::IntegerVectorStride, vector.with(|i| i.stride(2))),
        (Tgl, Rule::FloatVectorStride, floats),
        (Dg2, Rule::RowAddresses, three(8, F).with(vertical(None))),
        (Tgl, Rule::DotAccumulators, dot),
    ]);
    let add = two(Opcode::Add, D, [D, D]);
    let shallow = Systolic { depth: 4, repeat: 1, bits: [8; 2] };
    let stored = send(Opcode::Send, 10, 0).with(to(ACCUMULATOR)).with(|i| i.stride(2));
    keeps([
        (Dg2, Rule::MatrixDepth, add.with(|i| i.systolic = Some(shallow))),
        (Icl, Rule::MatrixFactors, three(8, F).with(|i| *i.kind(1) = Hf)),
        (Tgl, Rule::AccumulatorStride, stored),
    ]);
    let message = |function, control| {
        let message = send(Opcode::Send, function, control).message;
        add.with(|i| i.message = message.map(|message| Message { end_of_thread: true, ..message }))
    };
    let headless = message(6, 9).with(|i| i.message().descriptor = Descriptor::Immediate(1 << 25 | 8));
    valid([
        (Skl, add.with(|i| i.function = 12).with(negated(1))),
        (Skl, message(14, 0)),
        (Skl, message(6, 9)),
        (Skl, headless),
    ]);
}

#[test]
fn violations_name_the_values() {
    let absolute = |i: &mut Instruction| {
        if let Some(Source::Register { absolute, .. }) = &mut i.sources[1] {
            *absolute = true;
        }
    };
    let select = two(Opcode::Sel, F, [F, F]);
    let both = select.with(|i| (i.condition, i.predicate) = (Some(Condition::Less), PREDICATE));
    let product = two(Opcode::Mul, D, [D, W]);
    let groups = mov(8, (Hf, 1), (F, FOUR)).align16();
    for (platform, instruction, operand, found) in [
        (Skl, select, "instruction", "neither"),
        (Skl, both, "instruction", "both"),
        (Tgl, product.with(negated(1)), "source 1", "a negation"),
        (Tgl, product.with(absolute), "source 1", "an absolute value"),
        (Hsw, mov(8, (Hf, 1), (F, EIGHT)), "destination", "register of type hf"),
        (Hsw, op(Opcode::Mov, 8).to(D, 1).number(Hf), "source 0", "immediate of type hf"),
        (Skl, groups.with(vertical(Some(0))), "source 0", "region <0;4,1>"),
    ] {
        let violations = validate(platform, &instruction);
        let named = violations.iter().any(|one| one.operand.to_string() == operand && one.found == found);
        assert!(named, "{operand}: {found}: {violations:?}");
    }
}

#[test]
fn messages_with_two_payloads_have_the_rules_of_all_messages() {
    let both = |function, control| send(Opcode::Sends, function, control);
    let descriptor = |bits| move |i: &mut Instruction| i.message().descriptor = Descriptor::Immediate(bits);
    breaks([
        (Skl, Rule::SharedFunction, both(14, 0)),
        (Skl, Rule::UrbHeader, both(6, 0).with(descriptor(1 << 25))),
        (Skl, Rule::UrbMessage, both(6, 9)),
        (Skl, Rule::UrbRead, both(6, 8)),
    ]);
    assert_eq!(rules(Skl, &send(Opcode::Send, 10, 0).with(accumulator(0))), [Rule::SendPayload]);
    let returning =
        both(10, 2 << 20).with(to(Place::general(126))).with(|i| *i.place(0) = Place::general(126));
    valid([(Skl, returning)]);
    for (first, second) in [(2, 3), (3, 2)] {
        let unknown = both(10, 0).with(|i| {
            *i.place(0) = Place::general(first);
            *i.place(1) = Place::general(second);
            i.message().descriptor = Descriptor::Register(0);
            i.message().extended = Descriptor::Register(2);
        });
        valid([(Skl, unknown)]);
    }
}
