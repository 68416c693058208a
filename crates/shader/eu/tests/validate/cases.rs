//! For each rule, an instruction that keeps all rules, and one that breaks this one.

use intel_eu::{
    Condition, Descriptor, File, Instruction, Opcode, Place, Platform, Region, Rule, Source, Type,
};

use crate::build::{ACCUMULATOR, Build, FLAGS, INDIRECT, PREDICATE, Rows, decide, matrices, op, send};

/// A rule, others that are broken with it, platforms, and the instructions.
pub struct Case {
    pub rule: Rule,
    pub also: &'static [Rule],
    pub platforms: &'static [Platform],
    pub right: Instruction,
    pub wrong: Instruction,
}

use Platform::{Bdw, Bxt, Chv, Dg2, Glk, Hsw, Icl, Ivb, Jsl, Mtl, Skl, Tgl};
use Type::{B, Bf, D, Df, F, Hf, Nf, Q, Ub, Ud, V, Vf, W};

const ALL: &[Platform] = &[Ivb, Hsw, Bdw, Chv, Skl, Glk, Icl, Tgl, Dg2, Mtl];
const LATER: &[Platform] = &[Bdw, Chv, Skl, Glk, Icl, Tgl, Dg2];
const SEVEN: &[Platform] = &[Ivb, Hsw];
const LOW_POWER: &[Platform] = &[Chv, Bxt, Glk];
const ODD_WORDS: &[Platform] = &[Chv, Skl, Glk, Icl, Tgl];

/// Eight elements side by side; four; and one for all channels.
const EIGHT: Rows = (8, 8, 1);
const FOUR: Rows = (4, 4, 1);
const ONE: Rows = (0, 1, 0);

fn mov(channels: u8, destination: (Type, u8), source: (Type, Rows)) -> Instruction {
    op(Opcode::Mov, channels).to(destination.0, destination.1).from(source.0, source.1)
}

fn two(start: Instruction, destination: Type, sources: [Type; 2]) -> Instruction {
    start.to(destination, 1).from(sources[0], EIGHT).from(sources[1], EIGHT)
}

fn three(start: Instruction, kind: Type) -> Instruction {
    start.to(kind, 1).from(kind, EIGHT).from(kind, EIGHT).from(kind, (1, 1, 1))
}

fn math(function: u8, kind: Type) -> Instruction {
    two(op(Opcode::Math, 8), kind, [kind; 2]).with(|i| i.function = function)
}

fn root(kind: Type, source: (Type, Rows)) -> Instruction {
    op(Opcode::Math, 8).to(kind, 1).from(source.0, source.1).with(|i| i.function = 4)
}

fn modify(i: &mut Instruction, number: usize, is_absolute: bool) {
    if let Some(Source::Register { absolute, negate, .. }) = &mut i.sources[number] {
        *absolute |= is_absolute;
        *negate |= !is_absolute;
    }
}

fn at(number: u8, offset: u8) -> Place {
    Place::Direct { file: File::General, number, offset }
}

fn target(i: &mut Instruction, place: Place) {
    i.destination.as_mut().expect("it has a destination").place = place;
}

/// Returns the cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |rule, platforms, right: Instruction, change: fn(&mut Instruction)| {
        cases.push(Case { rule, also: &[], platforms, right, wrong: right.with(change) });
    };
    operations(&mut case);
    regions(&mut case);
    mixed_floats(&mut case);
    native_and_brain_floats(&mut case);
    long_operands(&mut case);
    opcodes(&mut case);
    matrix_operations(&mut case);
    messages(&mut case);
    // A packed destination that an accumulator is read for has the wrong stride, too.
    let right = mov(4, (Hf, 2), (F, FOUR)).with(|i| *i.place(0) = ACCUMULATOR);
    let wrong = right.with(|i| {
        i.stride(1);
        *i.place(0) = Place::Direct { file: File::Architecture, number: 0x20, offset: 4 };
    });
    let also = &[Rule::MixedAccumulatorStride];
    cases.push(Case { rule: Rule::MixedAccumulatorOffset, also, platforms: ODD_WORDS, right, wrong });
    // The last of only brain floats is a factor, too.
    let wrong = three(op(Opcode::Mad, 8), Bf);
    let right = wrong.with(|i| *i.kind(2) = F);
    let also = &[Rule::BrainFactor];
    cases.push(Case { rule: Rule::BrainFloat, also, platforms: &[Dg2, Mtl], right, wrong });
    cases
}

type Add<'a> = &'a mut dyn FnMut(Rule, &'static [Platform], Instruction, fn(&mut Instruction));

fn operations(case: Add<'_>) {
    let copy = mov(8, (F, 1), (F, EIGHT));
    case(Rule::Existence, ALL, op(Opcode::Nop, 1), |i| i.opcode = Opcode::Illegal);
    case(Rule::AccessMode, &[Icl, Tgl, Dg2], mov(8, (F, 1), (F, FOUR)), |i| i.align16 = true);
    case(Rule::ThreeSourceMode, &[Ivb, Hsw, Bdw, Skl], three(op(Opcode::Mad, 8), F).align16(), |i| {
        i.align16 = false;
    });
    case(Rule::ChannelOffset, &[Tgl, Dg2], mov(16, (W, 1), (W, EIGHT)), |i| i.channel_offset = 8);
    case(Rule::TypeCode, SEVEN, copy, |i| *i.kind(0) = Hf);
    case(Rule::TypeCode, ALL, mov(8, (W, 1), (W, EIGHT)), |i| *i.kind(0) = V);
    case(Rule::TypeCode, SEVEN, three(op(Opcode::Mad, 8), F).align16(), |i| i.every_kind(Hf));
    case(Rule::MissingSource, ALL, copy, |i| i.sources[0] = None);
    case(Rule::NullSource, ALL, mov(8, (D, 1), (D, EIGHT)), |i| *i.place(0) = Place::NULL);
    case(Rule::Double, &[Icl, Jsl, Tgl, Dg2], mov(4, (F, 1), (F, FOUR)), |i| i.every_kind(Df));
    case(Rule::Quadword, &[Ivb, Hsw, Icl, Tgl, Dg2, Mtl], mov(4, (F, 1), (F, FOUR)), |i| i.every_kind(Q));
    case(Rule::ByteSource, &[Icl, Tgl, Dg2], two(op(Opcode::Add, 8), D, [D, W]), |i| *i.kind(1) = Ub);
    case(Rule::PackedByte, ALL, mov(8, (B, 1), (Ub, EIGHT)), |i| *i.kind(0) = W);
    case(Rule::PackedByte, ALL, mov(8, (B, 1), (B, EIGHT)), |i| i.saturate = true);
    case(Rule::PackedByte, ALL, mov(8, (B, 1), (B, EIGHT)), |i| modify(i, 0, false));
    case(Rule::DestinationStride, ALL, mov(8, (W, 2), (D, EIGHT)), |i| i.stride(1));
    case(Rule::DestinationAlignment, ALL, mov(4, (W, 2), (D, FOUR)), |i| i.offset(2));
    case(Rule::DestinationAlignment, ALL, mov(4, (B, 4), (D, FOUR)).with(|i| i.offset(1)), |i| i.offset(2));
    case(Rule::ByteToLong, &[Bdw, Skl], mov(4, (Q, 1), (D, FOUR)), |i| *i.kind(0) = B);
    let sum = op(Opcode::Add, 4).to(Q, 1).from(Q, FOUR).from(D, FOUR);
    case(Rule::ByteToLong, &[Bdw, Skl], sum, |i| *i.kind(1) = B);
    case(Rule::HalfToLong, &[Bdw, Skl], mov(4, (Df, 1), (F, FOUR)), |i| *i.kind(0) = Hf);
    case(Rule::HalfToIntegerStride, &LATER[..6], mov(8, (Hf, 2), (W, EIGHT)), |i| i.stride(1));
    case(Rule::HalfToIntegerAlignment, &LATER[..6], mov(8, (Hf, 2), (W, EIGHT)), |i| i.offset(2));
    case(Rule::HalfWords, ODD_WORDS, mov(8, (Hf, 2), (F, EIGHT)), |i| i.stride(4));
    case(Rule::VectorAlignment, ALL, op(Opcode::Mov, 8).to(W, 1).number(V), |i| i.offset(4));
    case(Rule::IntegerVectorStride, ALL, op(Opcode::Mov, 8).to(W, 1).number(V), |i| i.stride(2));
    case(Rule::FloatVectorStride, ALL, op(Opcode::Mov, 4).to(F, 1).number(Vf), |i| i.stride(2));
}

fn regions(case: Add<'_>) {
    let copy = mov(8, (D, 1), (D, EIGHT));
    case(Rule::Width, ALL, mov(4, (D, 1), (D, FOUR)), |i| i.rows(0, EIGHT));
    case(Rule::OneRow, ALL, copy, |i| i.rows(0, (4, 8, 1)));
    case(Rule::NarrowRow, ALL, mov(8, (D, 1), (D, (1, 1, 0))), |i| i.rows(0, (1, 1, 1)));
    case(Rule::OneElement, ALL, mov(1, (D, 1), (D, ONE)), |i| i.rows(0, (1, 1, 0)));
    case(Rule::RepeatedElement, ALL, mov(8, (D, 1), (D, ONE)), |i| i.rows(0, (0, 4, 0)));
    case(Rule::RowCrossing, ALL, copy, |i| *i.place(0) = at(2, 4));
    case(Rule::ZeroStride, ALL, copy, |i| i.stride(0));
    let groups = mov(8, (F, 1), (F, FOUR)).align16();
    case(Rule::NullSource, &[Ivb, Hsw, Bdw, Skl], groups, |i| *i.place(0) = Place::NULL);
    case(Rule::Align16Stride, &[Ivb, Hsw, Bdw, Skl], groups, |i| i.stride(2));
    case(Rule::Align16Groups, &[Ivb, Hsw, Bdw, Skl], groups, |i| i.rows(0, (8, 1, 0)));
    case(Rule::Align16Groups, &[Ivb], groups, |i| i.rows(0, (2, 1, 0)));
    case(Rule::SourceSpan, ALL, mov(8, (D, 1), (D, (1, 1, 0))), |i| i.rows(0, (4, 1, 0)));
    case(Rule::DestinationSpan, ALL, copy, |i| i.stride(4));
    case(Rule::OwordSplit, &[Ivb, Hsw, Bdw, Chv], mov(8, (W, 1), (W, (16, 4, 4))), |i| i.offset(4));
    case(Rule::RegisterSplit, &[Bdw, Chv], copy, |i| i.offset(8));
    case(Rule::MathSplit, &[Skl, Glk, Icl, Tgl], root(F, (F, EIGHT)), |i| i.offset(8));
    let spread = mov(8, (D, 2), (D, (1, 1, 0))).with(|i| *i.place(0) = at(2, 16));
    case(Rule::RegisterPairing, SEVEN, spread, |i| *i.place(0) = at(2, 8));
    let sum = op(Opcode::Add, 8).to(D, 2).from(D, (2, 1, 0)).from(D, (2, 1, 0));
    case(Rule::PairedOffsets, SEVEN, sum, |i| {
        *i.place(0) = at(2, 16);
        i.rows(0, FOUR);
    });
    case(Rule::SourceInOneRegister, SEVEN, mov(16, (D, 1), (W, (16, 16, 1))), |i| *i.kind(0) = Ub);
    let sum = op(Opcode::Add, 16).to(D, 1).from(W, (16, 16, 1)).from(W, ONE);
    case(Rule::SourceInOneRegister, SEVEN, sum, |i| i.rows(1, (16, 16, 1)));
}

fn mixed_floats(case: Add<'_>) {
    let narrow = mov(8, (Hf, 1), (F, EIGHT));
    case(Rule::MixedIndirect, ODD_WORDS, narrow, |i| *i.place(0) = INDIRECT);
    case(Rule::MixedFloatSize, &LATER[..6], mov(8, (F, 1), (Hf, EIGHT)), |i| i.execution_size = 16);
    let groups = mov(8, (Hf, 1), (F, FOUR)).align16();
    case(Rule::MixedAlign16Groups, &[Chv, Skl, Glk], groups, |i| i.rows(0, ONE));
    case(Rule::MixedAlign16Size, &[Chv, Skl, Glk], groups, |i| i.execution_size = 16);
    case(Rule::MixedAlign16Accumulator, &[Chv, Skl, Glk], groups, |i| *i.place(0) = ACCUMULATOR);
    case(Rule::MixedPackedSize, ODD_WORDS, narrow, |i| i.execution_size = 16);
    case(Rule::MixedPackedAlignment, &LATER[..6], mov(1, (Hf, 1), (F, ONE)), |i| i.offset(2));
    case(Rule::MixedAccumulatorStride, ODD_WORDS, narrow, |i| *i.place(0) = ACCUMULATOR);
    case(Rule::MixedMath, &LATER[..6], root(F, (Hf, (16, 8, 2))), |i| i.rows(0, EIGHT));
}

fn native_and_brain_floats(case: Add<'_>) {
    let narrowed = mov(4, (F, 2), (Nf, FOUR)).with(|i| *i.place(0) = ACCUMULATOR);
    case(Rule::NativeFloat, &[Icl, Jsl], narrowed, |i| *i.place(0) = at(2, 0));
    let product = three(op(Opcode::Mad, 8), F).with(|i| {
        target(i, ACCUMULATOR);
        i.destination.as_mut().expect("it has one").kind = Nf;
    });
    case(Rule::NativeFloat, &[Icl, Jsl, Tgl, Dg2], product, |i| target(i, at(10, 0)));
    const LAST: &[Platform] = &[Dg2, Mtl];
    let product = three(op(Opcode::Mad, 8), F).with(|i| *i.kind(0) = Bf);
    case(Rule::BrainSize, LAST, product, |i| i.execution_size = 16);
    case(Rule::BrainFactor, LAST, product, |i| *i.kind(2) = Bf);
    case(Rule::BrainSource, LAST, product, |i| i.rows(0, ONE));
    case(Rule::BrainSource, LAST, product.with(|i| *i.place(0) = at(2, 16)), |i| *i.place(0) = at(2, 8));
    let narrowed = product.with(|i| i.destination.as_mut().expect("it has one").kind = Bf);
    case(Rule::BrainResult, LAST, narrowed, |i| i.offset(8));
    case(Rule::BrainResult, LAST, narrowed, |i| i.stride(4));
}

fn long_operands(case: Add<'_>) {
    let copy = mov(4, (Df, 1), (Df, FOUR));
    case(Rule::LongStride, LOW_POWER, copy, |i| i.stride(2));
    case(Rule::LongRows, LOW_POWER, copy, |i| i.rows(0, (1, 2, 1)));
    case(Rule::LongOffset, LOW_POWER, mov(2, (Df, 1), (Df, (2, 2, 1))), |i| *i.place(0) = at(2, 8));
    case(Rule::LongIndirectSource, LOW_POWER, copy, |i| *i.place(0) = INDIRECT);
    case(Rule::LongIndirectDestination, LOW_POWER, copy, |i| target(i, INDIRECT));
    case(Rule::LongArchitecture, LOW_POWER, copy, |i| i.accumulator_write = true);
    case(Rule::LongArchitecture, LOW_POWER, copy, |i| *i.place(0) = ACCUMULATOR);
    case(Rule::LongArchitecture, LOW_POWER, copy, |i| target(i, ACCUMULATOR));
    let product = op(Opcode::Mul, 4).to(D, 2).from(D, (8, 4, 2)).from(D, ONE);
    case(Rule::LongStride, LOW_POWER, product, |i| i.stride(4));
    case(Rule::LongDependency, LOW_POWER, copy, |i| i.order.no_check = true);
    case(Rule::LongDependency, LOW_POWER, copy, |i| i.order.no_clear = true);
    let long = three(op(Opcode::Mad, 2), Df).align16();
    case(Rule::LongReplication, &[Hsw, Bdw, Skl], long, |i| {
        if let Some(Source::Register { region, .. }) = &mut i.sources[2] {
            *region = Region::Groups { vertical: Some(0), swizzle: 0x44 };
        }
    });
    let groups = mov(2, (Df, 1), (F, FOUR)).align16();
    case(Rule::LongAlign16, &[Bdw, Chv, Skl, Glk], groups, |i| i.execution_size = 4);
    let float = mov(8, (F, 1), (F, EIGHT));
    case(Rule::MovedLanes, &[Dg2, Mtl], float, |i| i.offset(4));
    case(Rule::MovedLanes, &[Dg2, Mtl], float, |i| i.stride(2));
    case(Rule::MovedLanes, &[Dg2, Mtl], float, |i| i.rows(0, (2, 4, 1)));
    case(Rule::NamedSource, &[Dg2, Mtl], float, |i| *i.place(0) = FLAGS);
    case(Rule::NamedDestination, &[Dg2, Mtl], float, |i| target(i, FLAGS));
    let rows = mov(8, (D, 1), (D, ONE)).with(|i| {
        *i.place(0) = INDIRECT;
        if let Some(Source::Register { region, .. }) = &mut i.sources[0] {
            *region = Region::Rows { vertical: None, width: 1, horizontal: 0 };
        }
    });
    case(Rule::RowAddresses, &[Dg2, Mtl], rows, |i| *i.kind(0) = F);
}

fn opcodes(case: Add<'_>) {
    let compare = two(decide(Opcode::Cmp, 8), F, [F, F]);
    case(Rule::CompareCondition, ALL, compare, |i| i.condition = None);
    case(Rule::CompareAccumulator, SEVEN, compare, |i| target(i, ACCUMULATOR));
    let switch = compare.with(|i| {
        target(i, Place::NULL);
        i.order.thread = 2;
    });
    case(Rule::CompareSwitch, SEVEN, switch, |i| i.order.thread = 0);
    let select = two(decide(Opcode::Sel, 8), F, [F, F]);
    case(Rule::SelectDecision, ALL, select, |i| i.condition = None);
    case(Rule::SelectDecision, ALL, select, |i| i.predicate = PREDICATE);
    let csel = three(decide(Opcode::Csel, 8), F);
    case(Rule::CselPredicate, &[Icl, Tgl, Dg2], csel, |i| i.predicate = PREDICATE);
    case(Rule::CselCondition, &[Bdw, Skl], csel.align16(), |i| i.condition = None);
    case(Rule::CselType, &[Bdw, Skl], csel.align16(), |i| i.every_kind(D));
    case(Rule::CselType, &[Mtl], csel, |i| i.every_kind(Df));
    case(Rule::CselSources, &[Icl, Tgl, Dg2], csel, |i| *i.kind(1) = Hf);
    let insert = three(op(Opcode::Bfi2, 8), D);
    case(Rule::EqualTypes, &[Icl, Tgl, Dg2], insert, |i| *i.kind(2) = Ud);
    case(Rule::InsertType, &[Icl, Tgl, Dg2], insert, |i| i.every_kind(W));
    case(Rule::InsertModifier, &[Ivb, Hsw, Bdw, Skl], insert.align16(), |i| i.saturate = true);
    case(Rule::InsertModifier, &[Icl, Tgl, Dg2], insert, |i| i.condition = Some(Condition::Zero));
    let added =
        three(op(Opcode::Add3, 8), W).with(|i| i.sources[0] = Some(Source::Immediate { kind: W, bits: 1 }));
    case(Rule::AddImmediate, &[Dg2, Mtl], added, |i| {
        i.sources[0] = Some(Source::Immediate { kind: D, bits: 1 })
    });
    let added =
        three(op(Opcode::Add3, 8), D).with(|i| i.sources[2] = Some(Source::Immediate { kind: W, bits: 1 }));
    case(Rule::AddImmediate, &[Dg2, Mtl], added, |i| {
        i.sources[2] = Some(Source::Immediate { kind: Ud, bits: 1 })
    });
    const TWELVE: &[Platform] = &[Tgl, Platform::Rkl, Platform::Dg1, Platform::Adls, Platform::Adlp];
    let stored = mov(8, (D, 1), (D, EIGHT)).with(|i| target(i, ACCUMULATOR));
    case(Rule::AccumulatorStride, TWELVE, stored, |i| i.stride(2));
    let stored = three(op(Opcode::Mad, 8), W).with(|i| target(i, ACCUMULATOR));
    case(Rule::AccumulatorStride, TWELVE, stored, |i| i.stride(2));
    case(Rule::AddType, &[Dg2, Mtl], three(op(Opcode::Add3, 8), D), |i| i.every_kind(F));
    case(Rule::ByteSource, &[Dg2, Mtl], three(op(Opcode::Mad, 8), D), |i| *i.kind(2) = B);
    case(Rule::DotAccumulators, &[Tgl, Dg2], three(op(Opcode::Dp4a, 8), D), |i| {
        *i.place(0) = ACCUMULATOR;
        *i.place(1) = ACCUMULATOR;
    });
    let and = two(decide(Opcode::And, 8), D, [D, D]);
    case(Rule::LogicCondition, ALL, and, |i| i.condition = Some(Condition::Overflow));
    case(Rule::LogicAbsolute, LATER, and, |i| modify(i, 1, true));
    case(Rule::LogicAccumulator, LATER, and.with(|i| *i.place(0) = ACCUMULATOR), |i| modify(i, 0, false));
    let product = two(op(Opcode::Mul, 8), D, [D, W]);
    case(Rule::ProductOrder, ALL, product, |i| {
        *i.kind(0) = W;
        *i.kind(1) = D;
    });
    case(Rule::ProductModifier, ALL, product, |i| i.saturate = true);
    case(Rule::ProductModifier, ALL, product, |i| i.condition = Some(Condition::Zero));
    let float = two(op(Opcode::Mul, 8), F, [F, F]);
    case(Rule::ProductAccumulator, SEVEN, float, |i| *i.place(0) = ACCUMULATOR);
    case(Rule::ProductIntegerAccumulator, LATER, product, |i| *i.place(0) = ACCUMULATOR);
    case(Rule::ProductFloat, SEVEN, product, |i| i.destination.as_mut().expect("it has one").kind = F);
    case(Rule::ProductDestination, &[Bdw], two(op(Opcode::Mul, 8), D, [D, D]), |i| target(i, ACCUMULATOR));
    case(Rule::ProductSourceModifier, &[Tgl, Dg2], product, |i| modify(i, 1, false));
    case(Rule::DivisionModifier, ALL, math(12, D), |i| modify(i, 1, true));
}

fn matrix_operations(case: Add<'_>) {
    let integers = matrices(D, [D, B, B], [8, 8]);
    let floats = matrices(F, [F, Hf, Hf], [16, 16]);
    let small = matrices(Ud, [Ud, Ub, Ub], [8, 4]);
    const DG2: &[Platform] = &[Dg2];
    case(Rule::MatrixDepth, DG2, integers, |i| i.systolic.as_mut().expect("it has one").depth = 4);
    case(Rule::MatrixSum, DG2, floats, |i| *i.kind(0) = Hf);
    case(Rule::MatrixSum, DG2, floats, |i| i.destination.as_mut().expect("it has one").kind = Bf);
    case(Rule::MatrixFactors, DG2, floats, |i| *i.kind(2) = Bf);
    case(Rule::MatrixSign, DG2, small, |i| *i.kind(0) = D);
    case(Rule::MatrixSign, DG2, small, |i| *i.kind(1) = B);
    case(Rule::MatrixSign, DG2, small, |i| *i.kind(2) = B);
    case(Rule::MatrixResult, DG2, integers, |i| i.offset(4));
    case(Rule::MatrixOffset, DG2, integers, |i| *i.place(0) = at(2, 16));
    case(Rule::MatrixOffset, DG2, integers, |i| *i.place(1) = at(4, 16));
    case(Rule::MatrixOffset, DG2, floats, |i| *i.place(2) = at(6, 16));
    case(Rule::MatrixOffset, DG2, small.with(|i| *i.place(2) = at(6, 16)), |i| *i.place(2) = at(6, 8));
    case(Rule::MatrixSize, DG2, integers, |i| i.execution_size = 16);
}

fn messages(case: Add<'_>) {
    let one = send(Opcode::Send, 10, 0);
    let both = send(Opcode::Sends, 10, 0);
    const ONE_PAYLOAD: &[Platform] = &[Ivb, Hsw, Bdw, Skl, Icl];
    case(Rule::SendIndirect, ONE_PAYLOAD, one, |i| *i.place(0) = INDIRECT);
    case(Rule::SendPayload, ONE_PAYLOAD, one, |i| *i.place(0) = Place::NULL);
    case(Rule::SplitPayload, &[Skl, Icl], both, |i| *i.place(1) = ACCUMULATOR);
    case(Rule::SplitOverlap, &[Skl, Icl], both, |i| *i.place(1) = Place::general(2));
    case(Rule::EndOfThread, ONE_PAYLOAD, one, |i| i.message().end_of_thread = true);
    let returning = send(Opcode::Send, 10, 2 << 20).with(|i| target(i, Place::general(126)));
    case(Rule::ReturnOverlap, &[Bdw, Skl, Icl], returning, |i| *i.place(0) = Place::general(126));
    case(Rule::SharedFunction, ONE_PAYLOAD, one, |i| i.message().function = 14);
    case(Rule::SharedFunction, &[Ivb], one, |i| i.message().function = 12);
    let urb = send(Opcode::Send, 6, 0);
    case(Rule::UrbHeader, ONE_PAYLOAD, urb, |i| i.message().descriptor = Descriptor::Immediate(1 << 25));
    case(Rule::UrbMessage, &[Ivb], urb, |i| i.message().descriptor = Descriptor::Immediate(1 << 19 | 6));
    case(Rule::UrbMessage, &[Bdw, Skl, Icl], urb, |i| {
        i.message().descriptor = Descriptor::Immediate(1 << 19 | 9);
    });
    let read = send(Opcode::Send, 6, 1 << 20 | 8);
    case(Rule::UrbRead, &[Bdw, Skl, Icl], read, |i| {
        i.message().descriptor = Descriptor::Immediate(1 << 19 | 8);
    });
}
