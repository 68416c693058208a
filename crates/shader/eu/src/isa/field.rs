//! The fields of an instruction: its bits, by generation.

use super::bits::Bits;
use crate::Platform;

/// The generations that place the fields in ways of their own: columns of the table below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Graphics 7 and 7.5.
    Seven,
    /// Graphics 8 to 11.
    Eight,
    /// Graphics 12 and 12.5.
    Twelve,
}

impl Layout {
    fn of(platform: Platform) -> Self {
        match platform.graphics() {
            ..80 => Self::Seven,
            80..120 => Self::Eight,
            _ => Self::Twelve,
        }
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident $text:literal [$($seven:tt),*] [$($eight:tt),*] [$($twelve:tt),*])*) => {
        /// A field of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Field {
            $(#[doc = $text] $(#[$doc])* $name,)*
        }

        impl Field {
            /// Returns the field's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Returns the field's bits under each layout: graphics 7, 8 to 11, 12. They are none if it lacks the field.
            fn columns(self) -> [Bits; 3] {
                match self {
                    $(Self::$name => [Bits(&[$($seven),*]), Bits(&[$($eight),*]), Bits(&[$($twelve),*])],)*
                }
            }
        }
    };
}

// Sources: "Structure_EU_INSTRUCTION" of the Programmer's Reference Manuals; Mesa's brw_inst.h; checked by iga64.
fields! {
    Opcode "opcode" [(6, 0)] [(6, 0)] [(6, 0)]
    AccessMode "access mode" [(8, 8)] [(8, 8)] []
    NoDependencyClear "no dependency clear" [(10, 10)] [(9, 9)] []
    NoDependencyCheck "no dependency check" [(11, 11)] [(10, 10)] []
    /// In units of four channels.
    ChannelOffset "channel offset" [(13, 12), (47, 47)] [(13, 12), (11, 11)] [(21, 19)]
    ThreadControl "thread control" [(15, 14)] [(15, 14)] []
    Scoreboard "scoreboard" [] [] [(15, 8)]
    Atomic "atomic" [] [] [(32, 32)]
    Predicate "predicate" [(19, 16)] [(19, 16)] [(27, 24)]
    PredicateInverse "inverse of the predicate" [(20, 20)] [(20, 20)] [(28, 28)]
    ExecutionSize "execution size" [(23, 21)] [(23, 21)] [(18, 16)]
    /// The condition modifier; of `math`, the function; of sends, the shared function.
    Condition "condition modifier" [(27, 24)] [(27, 24)] [(95, 92)]
    /// Of branches from graphics 8 on, the branch control.
    AccumulatorWrite "accumulator write" [(28, 28)] [(28, 28)] [(33, 33)]
    Compacted "compacted" [(29, 29)] [(29, 29)] [(29, 29)]
    Debug "breakpoint" [(30, 30)] [(30, 30)] [(30, 30)]
    Saturate "saturate" [(31, 31)] [(31, 31)] [(34, 34)]
    Flag "flag register" [(90, 89)] [(33, 32)] [(23, 22)]
    NoMask "no mask" [(9, 9)] [(34, 34)] [(31, 31)]

    DestinationFile "destination's file" [(33, 32)] [(36, 35)] [(50, 50)]
    DestinationType "destination's type" [(36, 34)] [(40, 37)] [(39, 36)]
    DestinationOffset "destination's subregister" [(52, 48)] [(52, 48)] [(55, 51)]
    DestinationOffset16 "destination's subregister" [(52, 52)] [(52, 52)] []
    DestinationMask "destination's channels" [(51, 48)] [(51, 48)] []
    DestinationRegister "destination's register" [(60, 53)] [(60, 53)] [(63, 56)]
    DestinationStride "destination's stride" [(62, 61)] [(62, 61)] [(49, 48)]
    DestinationIndirect "destination's address mode" [(63, 63)] [(63, 63)] [(35, 35)]
    DestinationAddress "destination's address register" [(60, 58)] [(60, 57)] [(63, 60)]
    DestinationDistance "destination's address offset" [(57, 48)] [(47, 47), (56, 48)] [(59, 50)]

    Source0File "file of source 0" [(38, 37)] [(42, 41)] [(66, 66)]
    Source0Immediate "immediate as source 0" [] [] [(46, 46)]
    Source0Type "type of source 0" [(41, 39)] [(46, 43)] [(43, 40)]
    Source0Offset "subregister of source 0" [(68, 64)] [(68, 64)] [(71, 67)]
    Source0Offset16 "subregister of source 0" [(68, 68)] [(68, 68)] []
    Source0Register "register of source 0" [(76, 69)] [(76, 69)] [(79, 72)]
    Source0Absolute "absolute value of source 0" [(77, 77)] [(77, 77)] [(44, 44)]
    Source0Negate "negation of source 0" [(78, 78)] [(78, 78)] [(45, 45)]
    Source0Indirect "address mode of source 0" [(79, 79)] [(79, 79)] [(80, 80)]
    Source0Horizontal "horizontal stride of source 0" [(81, 80)] [(81, 80)] [(65, 64)]
    Source0Width "width of source 0" [(84, 82)] [(84, 82)] [(83, 81)]
    Source0Vertical "vertical stride of source 0" [(88, 85)] [(88, 85)] [(87, 84)]
    Source0Swizzle "swizzle of source 0" [(83, 80), (67, 64)] [(83, 80), (67, 64)] []
    Source0Address "address register of source 0" [(76, 74)] [(76, 73)] [(79, 76)]
    Source0Distance "address offset of source 0" [(73, 64)] [(95, 95), (72, 64)] [(75, 66)]

    Source1File "file of source 1" [(43, 42)] [(90, 89)] [(98, 98)]
    Source1Immediate "immediate as source 1" [] [] [(47, 47)]
    Source1Type "type of source 1" [(46, 44)] [(94, 91)] [(91, 88)]
    Source1Offset "subregister of source 1" [(100, 96)] [(100, 96)] [(103, 99)]
    Source1Offset16 "subregister of source 1" [(100, 100)] [(100, 100)] []
    Source1Register "register of source 1" [(108, 101)] [(108, 101)] [(111, 104)]
    Source1Absolute "absolute value of source 1" [(109, 109)] [(109, 109)] [(120, 120)]
    Source1Negate "negation of source 1" [(110, 110)] [(110, 110)] [(121, 121)]
    Source1Indirect "address mode of source 1" [(111, 111)] [(111, 111)] [(112, 112)]
    Source1Horizontal "horizontal stride of source 1" [(113, 112)] [(113, 112)] [(97, 96)]
    Source1Width "width of source 1" [(116, 114)] [(116, 114)] [(115, 113)]
    Source1Vertical "vertical stride of source 1" [(120, 117)] [(120, 117)] [(119, 116)]
    Source1Swizzle "swizzle of source 1" [(115, 112), (99, 96)] [(115, 112), (99, 96)] []
    Source1Address "address register of source 1" [(108, 106)] [(108, 105)] [(111, 108)]
    Source1Distance "address offset of source 1" [(105, 96)] [(121, 121), (104, 96)] [(107, 98)]

    MacroDestination "accumulator of the destination" [] [(51, 48)] [(54, 51)]
    MacroSource0 "accumulator of source 0" [] [(67, 64)] [(70, 67)]
    MacroSource1 "accumulator of source 1" [] [(99, 96)] [(102, 99)]

    Immediate "immediate" [(127, 96)] [(127, 96)] [(127, 96)]
    Immediate64 "64-bit immediate" [(127, 64)] [(127, 64)] [(95, 64), (127, 96)]

    Jip "JIP" [(111, 96)] [(127, 96)] [(127, 96)]
    Uip "UIP" [(127, 112)] [(95, 64)] [(95, 64)]

    Descriptor "descriptor" [(126, 96)] [(126, 96)] [(123, 122), (71, 67), (55, 51), (121, 113), (91, 81)]
    EndOfThread "end of thread" [(127, 127)] [(127, 127)] [(34, 34)]
    IndirectDescriptor "descriptor in a register" [] [(77, 77)] [(48, 48)]
    /// Bits 31 to 6: the others are fields of their own.
    Extended "extended descriptor" [] [(95, 80), (67, 64)] [(127, 124), (97, 96), (65, 64), (47, 35), (103, 99)]
    IndirectExtended "extended descriptor in a register" [] [(61, 61)] [(49, 49)]
    ExtendedAddress "register of the extended descriptor" [] [(82, 80)] [(42, 40)]
    SplitDestinationFile "destination's file" [] [(35, 35)] [(50, 50)]
    SplitSource0File "file of source 0" [] [] [(66, 66)]
    SplitSource1File "file of source 1" [] [(36, 36)] [(98, 98)]
    SplitSource1Register "register of source 1" [] [(51, 44)] [(111, 104)]

    ThreeDestinationRegister "destination's register" [(63, 56)] [(63, 56)] [(63, 56)]
    ThreeSource0Register "register of source 0" [(83, 76)] [(83, 76)] [(79, 72)]
    ThreeSource1Register "register of source 1" [(104, 97)] [(104, 97)] [(111, 104)]
    ThreeSource2Register "register of source 2" [(125, 118)] [(125, 118)] [(127, 120)]
    ThreeSource0Absolute "absolute value of source 0" [(36, 36)] [(37, 37)] [(44, 44)]
    ThreeSource0Negate "negation of source 0" [(37, 37)] [(38, 38)] [(45, 45)]
    ThreeSource1Absolute "absolute value of source 1" [(38, 38)] [(39, 39)] [(86, 86)]
    ThreeSource1Negate "negation of source 1" [(39, 39)] [(40, 40)] [(87, 87)]
    ThreeSource2Absolute "absolute value of source 2" [(40, 40)] [(41, 41)] [(84, 84)]
    ThreeSource2Negate "negation of source 2" [(41, 41)] [(42, 42)] [(85, 85)]
    ThreeFlag "flag register" [(34, 33)] [(33, 32)] [(23, 22)]

    Three16DestinationOffset "destination's subregister" [(55, 53)] [(55, 53)] []
    Three16DestinationMask "destination's channels" [(52, 49)] [(52, 49)] []
    Three16DestinationType "destination's type" [(45, 44)] [(48, 46)] []
    Three16SourceType "type of the sources" [(43, 42)] [(45, 43)] []
    Three16Source1Half "half float as source 1" [] [(36, 36)] []
    Three16Source2Half "half float as source 2" [] [(35, 35)] []
    Three16Source0Offset "subregister of source 0" [(75, 73)] [(75, 73)] []
    Three16Source0Swizzle "swizzle of source 0" [(72, 65)] [(72, 65)] []
    Three16Source0Scalar "replication of source 0" [(64, 64)] [(64, 64)] []
    Three16Source1Offset "subregister of source 1" [(96, 94)] [(96, 94)] []
    Three16Source1Swizzle "swizzle of source 1" [(93, 86)] [(93, 86)] []
    Three16Source1Scalar "replication of source 1" [(85, 85)] [(85, 85)] []
    Three16Source2Offset "subregister of source 2" [(117, 115)] [(117, 115)] []
    Three16Source2Swizzle "swizzle of source 2" [(114, 107)] [(114, 107)] []
    Three16Source2Scalar "replication of source 2" [(106, 106)] [(106, 106)] []

    /// Of `bfn`: the bits of conditions and modifiers of others.
    LogicFunction "function" [] [] [(95, 92), (87, 84)]
    LogicCondition "condition modifier" [] [] [(45, 44)]

    Three16MacroDestination "accumulator of the destination" [] [(52, 49)] []
    Three16MacroSource0 "accumulator of source 0" [] [(68, 65)] []
    Three16MacroSource1 "accumulator of source 1" [] [(89, 86)] []
    Three16MacroSource2 "accumulator of source 2" [] [(110, 107)] []

    ThreeMacroDestination "accumulator of the destination" [] [(55, 52)] [(54, 51)]
    ThreeMacroSource0 "accumulator of source 0" [] [(75, 72)] [(70, 67)]
    ThreeMacroSource1 "accumulator of source 1" [] [(96, 93)] [(102, 99)]
    ThreeMacroSource2 "accumulator of source 2" [] [(117, 114)] [(118, 115)]

    SystolicDepth "depth" [] [] [(49, 48)]
    SystolicRepeat "repeat count" [] [] [(45, 43)]
    SystolicDestinationOffset "destination's subregister" [] [] [(55, 51)]
    SystolicSource1Bits "bits of elements of source 1" [] [] [(87, 86)]
    SystolicSource2Bits "bits of elements of source 2" [] [] [(85, 84)]

    ThreeDestinationFile "destination's file" [] [(36, 36)] [(50, 50)]
    /// In units of eight bytes.
    ThreeDestinationOffset "destination's subregister" [] [(55, 54)] [(55, 54)]
    ThreeDestinationStride "destination's stride" [] [(49, 49)] [(48, 48)]
    ThreeDestinationType "destination's type" [] [(48, 46)] [(38, 36)]
    ThreeFloat "execution type" [] [(35, 35)] [(39, 39)]
    ThreeSource0File "file of source 0" [] [(43, 43)] [(66, 66)]
    ThreeSource0IsImmediate "immediate as source 0" [] [] [(46, 46)]
    ThreeSource0Type "type of source 0" [] [(66, 64)] [(42, 40)]
    ThreeSource0Offset "subregister of source 0" [] [(75, 71)] [(71, 67)]
    ThreeSource0Horizontal "horizontal stride of source 0" [] [(70, 69)] [(65, 64)]
    ThreeSource0Vertical "vertical stride of source 0" [] [(68, 67)] [(43, 43), (35, 35)]
    ThreeSource0Immediate "immediate source 0" [] [(82, 67)] [(79, 64)]
    ThreeSource1File "file of source 1" [] [(44, 44)] [(98, 98)]
    ThreeSource1Type "type of source 1" [] [(87, 85)] [(90, 88)]
    ThreeSource1Offset "subregister of source 1" [] [(96, 92)] [(103, 99)]
    ThreeSource1Horizontal "horizontal stride of source 1" [] [(91, 90)] [(97, 96)]
    ThreeSource1Vertical "vertical stride of source 1" [] [(89, 88)] [(91, 91), (83, 83)]
    ThreeSource2File "file of source 2" [] [(45, 45)] [(114, 114)]
    ThreeSource2IsImmediate "immediate as source 2" [] [] [(47, 47)]
    ThreeSource2Type "type of source 2" [] [(108, 106)] [(82, 80)]
    ThreeSource2Offset "subregister of source 2" [] [(117, 113)] [(119, 115)]
    ThreeSource2Horizontal "horizontal stride of source 2" [] [(112, 111)] [(113, 112)]
    ThreeSource2Immediate "immediate source 2" [] [(124, 109)] [(127, 112)]
}

impl Field {
    /// Returns the field's bits on a platform.
    fn bits(self, platform: Platform) -> Bits {
        let [seven, eight, twelve] = self.columns();
        match Layout::of(platform) {
            Layout::Seven => seven,
            Layout::Eight => eight,
            Layout::Twelve => twelve,
        }
    }

    /// Returns the number of bits; 0 if the platform lacks the field.
    pub(crate) fn width(self, platform: Platform) -> u32 {
        self.bits(platform).width()
    }

    /// Returns the bits of an instruction that the field has.
    pub(crate) fn mask(self, platform: Platform) -> u128 {
        self.bits(platform).mask()
    }

    /// Returns the field's value in an instruction; 0 if the platform lacks the field.
    pub(crate) fn get(self, platform: Platform, word: u128) -> u64 {
        self.bits(platform).get(word)
    }

    /// Returns an instruction of zeroes with a value in the field. Bits that the field has no room for are lost.
    pub(crate) fn put(self, platform: Platform, value: u64) -> u128 {
        self.bits(platform).put(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_in_pieces_is_read_as_it_is_written() {
        for platform in Platform::all() {
            for field in [
                Field::ChannelOffset,
                Field::Descriptor,
                Field::Extended,
                Field::Source0Distance,
                Field::Immediate64,
            ] {
                let width = field.width(platform);
                for bit in 0..width {
                    let word = field.put(platform, 1 << bit);
                    assert_eq!(word.count_ones(), 1, "{platform} {field:?} {bit}");
                    assert_eq!(field.get(platform, word), 1 << bit, "{platform} {field:?} {bit}");
                    assert_eq!(word & !field.mask(platform), 0);
                }
                assert_eq!(field.mask(platform).count_ones(), width);
            }
        }
        assert_eq!(Field::Scoreboard.width(Platform::Skl), 0);
        assert_eq!(Field::Scoreboard.get(Platform::Skl, !0), 0);
    }
}
