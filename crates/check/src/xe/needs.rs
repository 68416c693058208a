//! Why a rule exists that can be taken out without breaking a property.

use gem_coherency::xe::Rule;

/// Returns the reason why no search needs the rule; `None`: without it a property breaks.
pub const fn not_needed(rule: Rule) -> Option<&'static str> {
    use Rule::{
        BarDrain, BindNotCompressible, BoundNotShown, BusSnoops, CachedNotSnooped, CannotBeBound,
        CannotDecompress, CompressionCannotBeOff, DecompressCompressed, DisplayNeverWrites,
        DisplayReadsMemory, DisplayShowsLocal, EndFlushes, FlushInBatch, GpuLinesShown, GpuWriteShown,
        ImportCompressed, ImportNotFlushed, ImportNotSnooped, LlcLinesShown, LocalIsWc, MirrorNotSnooped,
        NoCpuLines, NoDisplay, SameCaches, ScanoutIsWc, SharedLlc, SnoopedMapping, TransientOnly, TwoWaySeen,
        UserptrCompressed, UserptrNotFlushed, UserptrNotShown, UserptrNotSnooped, WcDrain,
    };
    let refused = matches!(
        rule,
        LocalIsWc
            | ScanoutIsWc
            | CachedNotSnooped
            | ImportNotSnooped
            | ImportNotFlushed
            | UserptrNotSnooped
            | UserptrNotFlushed
            | MirrorNotSnooped
            | CannotBeBound
    );
    let required = matches!(
        rule,
        WcDrain
            | BarDrain
            | FlushInBatch
            | TransientOnly
            | DisplayReadsMemory
            | LlcLinesShown
            | GpuLinesShown
    );
    if refused || required {
        return None;
    }
    let of_compression = matches!(
        rule,
        CompressionCannotBeOff
            | DecompressCompressed
            | UserptrCompressed
            | CannotDecompress
            | BindNotCompressible
            | ImportCompressed
    );
    let of_nothing = matches!(
        rule,
        SnoopedMapping
            | BusSnoops
            | SharedLlc
            | NoCpuLines
            | EndFlushes
            | TwoWaySeen
            | SameCaches
            | GpuWriteShown
    );
    let of_display =
        matches!(rule, DisplayShowsLocal | BoundNotShown | NoDisplay | UserptrNotShown | DisplayNeverWrites);
    Some(if of_compression {
        "The model has no compressed data."
    } else if of_nothing {
        "It requires nothing."
    } else if of_display {
        "The display cannot do it, in the model, either."
    } else {
        "It checks an argument that has no part in coherency."
    })
}
