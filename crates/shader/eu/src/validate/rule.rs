//! The rules.

use super::scope::{On, Scope};
use super::view::{Register, Typed, View};
use super::{brain, messages, mixed, opcodes, regions, spans, systolic, types, wide};
use crate::{Destination, Opcode, Platform};

/// The check of a rule: the values that break it, as text.
#[derive(Clone, Copy)]
pub(super) enum Check {
    /// Of the whole instruction.
    Instruction(fn(&View<'_>) -> Option<String>),
    /// Of the destination.
    Destination(fn(&View<'_>, &Destination) -> Option<String>),
    /// Of each source in registers.
    Sources(fn(&View<'_>, &Register) -> Option<String>),
    /// Of each operand's type.
    Types(fn(&View<'_>, &Typed) -> Option<String>),
}

/// A rule of the table.
pub(super) struct Row {
    pub rule: Rule,
    name: &'static str,
    text: &'static str,
    source: &'static str,
    pub on: On,
    pub scope: Scope,
    pub check: Check,
}

macro_rules! rules {
    ($($source:literal { $($name:ident $on:expr, $scope:expr, $check:expr, $text:literal;)* })*) => {
        /// A restriction of the hardware.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[doc = concat!("Restriction: ", $text, ".")] $name,)*)*
        }

        static RULES: &[Row] = &[$($(Row {
            rule: Rule::$name,
            name: stringify!($name),
            text: $text,
            source: $source,
            on: $on,
            scope: $scope,
            check: $check,
        },)*)*];
    };
}

use Check::{Destination as ToDestination, Instruction as ToAll, Sources as ToSources, Types as ToTypes};
use On::{All, Eight, From, LowPower, OddWords, Twelve, UpTo};
use Scope::{
    Align1, Align16, Any, Basic, Channels, Messages, Mixed, Mixed1, Mixed16, Of, Operations, Send, SplitSend,
    Three, Wide, WideOrFloat,
};

const LOGIC: Scope = Of(&[Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Not]);
const COMPARISONS: Scope = Of(&[Opcode::Cmp, Opcode::Cmpn]);
const MUL: Scope = Of(&[Opcode::Mul]);
const CSEL: Scope = Of(&[Opcode::Csel]);
const MATRICES: Scope = Of(&[Opcode::Dpas, Opcode::Dpasw]);
const MAD: Scope = Of(&[Opcode::Mad]);
const BFI2: Scope = Of(&[Opcode::Bfi2]);

// The sections are those of the Programmer's Reference Manuals, the functions those of Mesa's brw_eu_validate.c (24.1; types of csel: 25.0;
// brain floats: commit 3f436bdc, by Alchemist's manual, volume 9). That native floats are those of accumulators is in Mesa's brw_reg_type.h (22.3).
rules! {
    "EU Opcode Encoding; is_unsupported_inst" {
        Existence All, Any, ToAll(opcodes::exists), "the platform must have the opcode";
    }
    "Execution Environment; alignment_supported, invalid_values" {
        AccessMode From(110), Any, ToAll(opcodes::align16), "the access mode must be Align1 from graphics 11 on";
        ThreeSourceMode UpTo(90), Three, ToAll(opcodes::three_align1),
            "the access mode of three sources must be Align16 before graphics 11";
        ChannelOffset From(120), Any, ToAll(opcodes::channel_offset),
            "the channel offset must be a multiple of the execution size";
        TypeCode All, Operations, ToTypes(types::code), "the platform must have a code for the type";
    }
    "Source Operands; sources_not_null" {
        MissingSource All, Any, ToAll(opcodes::missing_source), "the instruction must have its sources";
        NullSource All, Basic, ToSources(opcodes::null_source), "a source must not be the null register";
    }
    "Register Region Restrictions, operand types; general_restrictions_based_on_operand_types" {
        Double All, Operations, ToTypes(types::double), "the platform must have 64-bit floats";
        Quadword All, Operations, ToTypes(types::quadword), "the platform must have 64-bit integers";
        ByteSource From(110), Operations, ToSources(types::late_byte), "only source 0 can be of bytes";
        PackedByte All, Channels, ToDestination(types::packed_byte),
            "only a mov that copies bits can write packed bytes";
        DestinationStride All, Channels, ToDestination(types::stride),
            "the destination's stride in bytes must be the size of a wider execution type";
        DestinationAlignment All, Channels, ToDestination(types::offset),
            "the destination must be aligned to the size of a wider execution type";
    }
    "Numeric Data Types; brw_reg_type" {
        NativeFloat All, Operations, ToTypes(types::native_place), "native floats must be in accumulators";
    }
    "mov, direct conversions; general_restrictions_based_on_operand_types" {
        ByteToLong All, Channels, ToTypes(types::byte_and_long),
            "bytes and 64-bit types must not be converted directly";
        HalfToLong All, Channels, ToTypes(types::half_and_long),
            "half floats and 64-bit types must not be converted directly";
        HalfToIntegerStride From(80), Channels, ToDestination(types::half_integer_stride),
            "a conversion between half floats and integers must have a destination stride of 4 bytes";
        HalfToIntegerAlignment From(80), Channels, ToDestination(types::half_integer_offset),
            "a conversion between half floats and integers must have a destination aligned to 4 bytes";
        HalfWords OddWords, Channels, ToDestination(types::half_words),
            "converted half floats must have a stride of 2, or be packed from 16 bytes on in mixed float mode";
    }
    "Register Region Restrictions, region parameters; general_restrictions_on_region_parameters" {
        Width All, Align1, ToSources(regions::wide_row), "the width must not be above the execution size";
        OneRow All, Align1, ToSources(regions::one_row),
            "the vertical stride of the only row must be the width times the horizontal stride";
        NarrowRow All, Align1, ToSources(regions::narrow_row), "the horizontal stride of a width of 1 must be 0";
        OneElement All, Align1, ToSources(regions::one_element), "the vertical stride of one element must be 0";
        RepeatedElement All, Align1, ToSources(regions::repeated_element),
            "the width of a region whose strides are 0 must be 1";
        RowCrossing All, Align1, ToSources(regions::row_in_register), "a row must not cross registers";
        ZeroStride All, Any, ToDestination(regions::destination_stride), "the destination's stride must not be 0";
        Align16Stride All, Align16, ToDestination(regions::align16_stride),
            "the destination's stride in Align16 must be 1";
        Align16Groups All, Align16, ToSources(regions::align16_groups),
            "the vertical stride in Align16 must be 0 or 4, or 2 from graphics 7.5 on";
    }
    "Accumulator Registers (Wa_14014617373); brw_validate" {
        AccumulatorStride Twelve, Operations, ToDestination(regions::accumulator_stride),
            "the destination's stride in an accumulator from its first byte on must be 1";
    }
    "mad, Replicate Control; brw_validate" {
        LongReplication UpTo(90), Three, ToSources(wide::replicated),
            "a 64-bit source of three must not be one element for all channels by its replication";
    }
    "Register Region Restrictions, alignment rules; region_alignment_rules" {
        SourceSpan All, Align1, ToSources(spans::long_source), "a source must not span three registers";
        DestinationSpan All, Align1, ToDestination(spans::long_destination),
            "the destination must not span three registers";
        OwordSplit UpTo(80), Align1, ToDestination(spans::uneven_owords),
            "a destination in one register must be in one OWord or evenly in both, if a source is in two registers";
        RegisterSplit UpTo(80), Align1, ToDestination(spans::uneven_registers),
            "a destination in two registers must be evenly in both";
        MathSplit From(90), Of(&[Opcode::Math]), ToDestination(spans::uneven_registers),
            "a destination of math in two registers must be evenly in both";
        RegisterPairing UpTo(75), Align1, ToSources(spans::crossed_registers),
            "the elements of each destination register must be from one source register";
        PairedOffsets UpTo(75), Align1, ToSources(spans::unequal_offsets),
            "a source in two registers must start at the same byte in both";
        SourceInOneRegister UpTo(75), Align1, ToSources(spans::single_source),
            "a source must span two registers as the destination does, unless scalar or expanded from packed words";
    }
    "Special Restrictions for Handling Mixed Mode Float Operations; special_restrictions_for_mixed_float_mode" {
        MixedIndirect From(80), Mixed, ToSources(mixed::indirect), "a source in mixed float mode must be direct";
        MixedFloatSize From(80), Mixed, ToDestination(mixed::float_channels),
            "the execution size in mixed float mode must not be above 8 if the destination is of floats";
        MixedAlign16Groups From(80), Mixed16, ToSources(mixed::align16_groups),
            "the vertical stride in mixed float mode of Align16 must be 4";
        MixedAlign16Size From(80), Mixed16, ToAll(mixed::align16_channels),
            "the execution size in mixed float mode of Align16 must not be above 8";
        MixedAlign16Accumulator From(80), Mixed16, ToAll(mixed::align16_accumulator),
            "an accumulator must not be read in mixed float mode of Align16";
        MixedPackedSize From(80), Mixed1, ToDestination(mixed::packed_channels),
            "the execution size in mixed float mode must not be above 8 if the destination is of packed half floats";
        MixedPackedAlignment From(80), Mixed1, ToDestination(mixed::packed_offset),
            "packed half floats in mixed float mode must be aligned to 16 bytes";
        MixedAccumulatorOffset From(80), Mixed1, ToSources(mixed::accumulator_offset),
            "an accumulator must be read from its first byte on if the destination is of packed half floats";
        MixedAccumulatorStride From(80), Mixed1, ToDestination(mixed::accumulator_stride),
            "half floats in mixed float mode must have a stride of 2 if an accumulator is read";
        MixedMath From(80), Mixed1, ToSources(mixed::math_stride),
            "half floats that math reads in mixed float mode must have a stride above 1";
    }
    "Register Region Restrictions, brain floats; special_restrictions_for_mixed_float_mode" {
        BrainFloat All, Operations, ToAll(brain::alone),
            "an operation on brain floats must have an operand of another type";
        BrainSize All, Operations, ToAll(brain::channels),
            "the execution size of an operation on brain floats must not be above 8";
        BrainFactor All, MAD, ToTypes(brain::second_factor), "source 2 of mad must not be of brain floats";
        BrainSource All, Operations, ToSources(brain::source),
            "brain floats of a source must be side by side, from byte 0 or 16 on";
        BrainResult All, Operations, ToDestination(brain::result),
            "brain floats must be written side by side from byte 0 or 16 on, or with a stride of 2 from byte 0 or 2 on";
    }
    "Immediate vectors; vector_immediate_restrictions" {
        VectorAlignment All, Basic, ToDestination(types::vector_offset),
            "the destination for a vector must be aligned to 16 bytes";
        FloatVectorStride All, Basic, ToDestination(types::float_vector_stride),
            "the destination's stride for a vector of floats must be 4 bytes";
        IntegerVectorStride All, Basic, ToDestination(types::integer_vector_stride),
            "the destination's stride for a vector of integers must be 2 bytes";
    }
    "Double Precision Data Types; special_requirements_for_handling_double_precision_data_types" {
        LongStride LowPower, Wide, ToSources(wide::strides),
            "the strides of 64-bit operands must be equal, and multiples of 8 bytes";
        LongRows LowPower, Wide, ToSources(wide::rows),
            "the vertical stride of 64-bit operands must be the width times the horizontal stride";
        LongOffset LowPower, Wide, ToSources(wide::offsets),
            "the first bytes of 64-bit operands in their registers must be equal";
        LongIndirectSource LowPower, Wide, ToSources(wide::indirect_source), "a 64-bit operand must be direct";
        LongIndirectDestination LowPower, Wide, ToDestination(wide::indirect_destination),
            "the destination of a 64-bit operation must be direct";
        LongArchitecture LowPower, Wide, ToAll(wide::architecture),
            "a 64-bit operation must not use architecture registers";
        LongDependency LowPower, Wide, ToAll(wide::dependency),
            "a 64-bit operation must not leave out the control of dependencies";
        LongAlign16 From(80), Wide, ToDestination(wide::align16_channels),
            "the execution size in Align16 must not be above 2 if narrower sources are widened to 64 bits";
        MovedLanes From(125), WideOrFloat, ToSources(wide::moved),
            "the elements of floats and of 64-bit operands must not change their places, unless scalar";
        NamedSource From(125), WideOrFloat, ToSources(wide::architecture_source),
            "the architecture registers that floats and 64-bit operations use must be null or accumulators";
        NamedDestination From(125), WideOrFloat, ToDestination(wide::architecture_destination),
            "the architecture registers that floats and 64-bit operations write must be null or accumulators";
        RowAddresses From(125), Basic, ToSources(wide::row_addresses),
            "rows with addresses of their own must not be of floats or 64-bit integers";
    }
    "Instruction reference; instruction_restrictions" {
        CompareCondition All, COMPARISONS, ToAll(opcodes::no_condition), "a comparison must have a condition";
        CompareAccumulator UpTo(75), COMPARISONS, ToDestination(opcodes::architecture_result),
            "a comparison must write a general register or null";
        CompareSwitch UpTo(75), COMPARISONS, ToDestination(opcodes::null_without_switch),
            "a comparison that writes null must switch threads";
        SelectDecision All, Of(&[Opcode::Sel]), ToAll(opcodes::one_decision),
            "a selection must have either a condition or a predicate";
        CselPredicate All, CSEL, ToAll(opcodes::predicate), "csel must not have a predicate";
        CselCondition All, CSEL, ToAll(opcodes::no_condition), "csel must have a condition";
        CselType All, CSEL, ToDestination(opcodes::selected_type),
            "the type of csel must be f, or also hf, d, ud, w or uw from graphics 11 on";
        CselSources All, CSEL, ToTypes(opcodes::selected_kind),
            "the sources of csel must have the destination's type, up to the sign of integers";
        EqualTypes All, BFI2, ToTypes(opcodes::same_type), "the sources must have the destination's type";
        InsertType All, BFI2, ToDestination(opcodes::inserted_type), "the type of bfi2 must be d or ud";
        InsertModifier All, BFI2, ToAll(opcodes::result_modifier),
            "bfi2 must not have a condition or saturation";
        AddType All, Of(&[Opcode::Add3]), ToTypes(opcodes::added_type), "the types of add3 must be d, ud, w or uw";
        AddImmediate All, Of(&[Opcode::Add3]), ToTypes(opcodes::added_immediate),
            "an immediate of add3 must be w or uw";
        DotAccumulators All, Of(&[Opcode::Dp4a]), ToAll(opcodes::two_accumulators),
            "one of sources 0 and 1 of dp4a at most can be an accumulator";
        LogicCondition All, LOGIC, ToAll(opcodes::logic_condition),
            "the condition of a logic operation must not be an overflow or unordered";
        LogicAbsolute From(80), LOGIC, ToSources(opcodes::absolute),
            "a logic operation must not take an absolute value";
        LogicAccumulator From(80), LOGIC, ToSources(opcodes::modified_accumulator),
            "a logic operation must not modify an accumulator that it reads";
        ProductOrder All, MUL, ToAll(opcodes::late_doubleword),
            "the doubleword of a multiplication with a narrower integer must be source 0";
        ProductModifier All, MUL, ToDestination(opcodes::modified_product),
            "a multiplication with a doubleword must not have a condition or saturation";
        ProductAccumulator UpTo(75), MUL, ToSources(opcodes::accumulator_factor),
            "a multiplication must not read an accumulator";
        ProductIntegerAccumulator From(80), MUL, ToSources(opcodes::integer_accumulator_factor),
            "a multiplication must not read integers from an accumulator";
        ProductFloat UpTo(75), MUL, ToDestination(opcodes::float_product),
            "a multiplication with a doubleword must not write floats";
        ProductDestination Eight, MUL, ToDestination(opcodes::accumulated_product),
            "a multiplication of doublewords must write a general register or null";
        ProductSourceModifier From(120), MUL, ToSources(opcodes::modified_factor),
            "the narrower source of a multiplication with a doubleword must not have a modifier";
        DivisionModifier All, Of(&[Opcode::Math]), ToSources(opcodes::modified_division),
            "a division of integers must not modify its sources";
    }
    "dpas; instruction_restrictions" {
        MatrixDepth All, MATRICES, ToAll(systolic::depth), "the depth of a matrix operation must be 8";
        MatrixSize All, MATRICES, ToAll(systolic::channels), "the execution size of a matrix operation must be 8";
        MatrixSum All, MATRICES, ToTypes(systolic::sum),
            "the result of a matrix operation and what is added must be f, or d or ud";
        MatrixFactors All, MATRICES, ToAll(systolic::factors), "floats that are multiplied as matrices must have one type";
        MatrixSign All, MATRICES, ToTypes(systolic::sign),
            "the result of a matrix operation with a signed source must be signed";
        MatrixResult All, MATRICES, ToDestination(systolic::result),
            "the result of a matrix operation must begin at a multiple of its channels";
        MatrixOffset All, MATRICES, ToSources(systolic::offset),
            "a source of a matrix operation must begin with a register, or, if it is source 2, with the elements of a channel";
    }
    "send; send_restrictions" {
        SendIndirect All, Send, ToSources(messages::indirect), "the payload must be direct";
        SendPayload All, Send, ToSources(messages::payload), "the payload must be in general registers";
        SplitPayload All, SplitSend, ToSources(messages::split_payload),
            "the payloads must be in general registers or null";
        SplitOverlap All, SplitSend, ToAll(messages::overlap), "the payloads must not overlap";
        EndOfThread All, Messages, ToSources(messages::end_of_thread),
            "the payload of a message that ends the thread must be in r112 to r127";
        ReturnOverlap From(80), Send, ToDestination(messages::returned),
            "a destination up to r127 must not overlap the payload";
    }
    "Shared functions; send_descriptor_restrictions" {
        SharedFunction All, Messages, ToAll(messages::function), "the platform must have the shared function";
        UrbHeader All, Messages, ToAll(messages::urb_header), "a message to the URB must have a header";
        UrbMessage All, Messages, ToAll(messages::urb_message), "the platform's URB must know the message";
        UrbRead From(80), Messages, ToAll(messages::urb_read), "a SIMD8 read of the URB must return registers";
    }
}

impl Rule {
    /// Returns all rules.
    pub fn all() -> impl Iterator<Item = Self> {
        RULES.iter().map(|row| row.rule)
    }

    pub(super) fn rows() -> &'static [Row] {
        RULES
    }

    fn row(self) -> &'static Row {
        RULES.iter().find(|row| row.rule == self).unwrap_or(&RULES[0])
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the restriction as a sentence, without a full stop.
    #[must_use]
    pub fn text(self) -> &'static str {
        self.row().text
    }

    /// Returns where the restriction is from: a section of the manuals, and functions of Mesa's validator.
    #[must_use]
    pub fn source(self) -> &'static str {
        self.row().source
    }

    /// Returns whether the restriction is one of the platform's.
    #[must_use]
    pub fn applies_to(self, platform: Platform) -> bool {
        self.row().on.includes(platform)
    }
}
