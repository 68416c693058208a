//! The platforms and the instructions that a rule applies to.

use super::view::View;
use crate::isa::Form;
use crate::{Opcode, Platform};

/// The platforms of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
    /// All.
    All,
    /// Those of this version of graphics, times ten, and later ones.
    From(u8),
    /// Those up to this version.
    UpTo(u8),
    /// Those of graphics 8, of both kinds.
    Eight,
    /// Those of graphics 12.0.
    Twelve,
    /// Cherryview, and all from graphics 9 on: half floats in odd words.
    OddWords,
    /// Cherryview, Broxton and Gemini Lake: 64-bit data only in their own lanes.
    LowPower,
}

impl On {
    /// Returns whether the rule applies to a platform.
    pub(super) fn includes(self, platform: Platform) -> bool {
        let graphics = platform.graphics();
        match self {
            Self::All => true,
            Self::From(first) => graphics >= first,
            Self::UpTo(last) => graphics <= last,
            Self::Eight => graphics == 80,
            Self::Twelve => graphics == 120,
            Self::OddWords => graphics >= 90 || platform == Platform::Chv,
            Self::LowPower => matches!(platform, Platform::Chv | Platform::Bxt | Platform::Glk),
        }
    }
}

/// The instructions of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope {
    /// All.
    Any,
    /// Those with one to three sources: neither branches nor messages.
    Operations,
    /// Those with one or two sources.
    Basic,
    /// The same, with a destination and several channels.
    Channels,
    /// Those with one or two sources, in Align1.
    Align1,
    /// The same, in Align16.
    Align16,
    /// Those with three sources.
    Three,
    /// Those that mix floats and half floats.
    Mixed,
    /// The same, in Align1.
    Mixed1,
    /// The same, in Align16.
    Mixed16,
    /// Those with operands of 64 bits, and multiplications of two doublewords.
    Wide,
    /// The same, and those whose destination is a float.
    WideOrFloat,
    /// Messages.
    Messages,
    /// Messages with one payload.
    Send,
    /// Messages with two payloads.
    SplitSend,
    /// Those of some opcodes.
    Of(&'static [Opcode]),
}

impl Scope {
    /// Returns whether the rule applies to an instruction.
    pub(super) fn includes(self, view: &View<'_>) -> bool {
        let is_basic = matches!(view.form, Form::Basic(_));
        let align16 = view.instruction.align16;
        match self {
            Self::Any => true,
            Self::Operations => is_basic || view.form == Form::Three,
            Self::Basic => is_basic,
            Self::Channels => is_basic && view.destination.is_some() && view.channels() > 1,
            Self::Align1 => is_basic && !align16,
            Self::Align16 => is_basic && align16,
            Self::Three => view.form == Form::Three,
            Self::Mixed => view.is_mixed_float(),
            Self::Mixed1 => view.is_mixed_float() && !align16,
            Self::Mixed16 => view.is_mixed_float() && align16,
            Self::Wide => is_basic && view.is_wide(),
            Self::WideOrFloat => {
                is_basic && (view.is_wide() || view.destination.is_some_and(|one| one.is_float()))
            }
            Self::Messages => matches!(view.form, Form::Send | Form::SplitSend),
            Self::Send => view.form == Form::Send,
            Self::SplitSend => view.form == Form::SplitSend,
            Self::Of(opcodes) => opcodes.contains(&view.instruction.opcode),
        }
    }
}
