//! Which channels execute which instructions.

use super::{BDW, FORMS, Form, State, Stop, refused, run, run_on};

/// An `else`, which has a second distance since gen8.
fn otherwise(form: Form, bytes: u32) -> String {
    if form == Form::Gen7 { format!("else (16|M0) {bytes}") } else { format!("else (16|M0) {bytes} {bytes}") }
}

/// `cmp` of r2 with a number, into f0.0.
fn compare(condition: &str, number: u32) -> String {
    format!("cmp (16|M0) ({condition})f0.0 r20.0<1>:ud r2.0<8;8,1>:ud 0x{number:x}:ud")
}

/// Adds a number to r4.
fn add(number: u32) -> String {
    format!("add (16|M0) r4.0<1>:ud r4.0<8;8,1>:ud 0x{number:x}:ud")
}

#[test]
fn channels_take_one_of_two_ways() {
    for platform in FORMS {
        // Some channels, none and all of them go the first way.
        for limit in [5, 0, 16] {
            let source = [
                compare("lt", limit),
                "(f0.0) if (16|M0) 48 64".into(),
                add(1),
                otherwise(platform.1, 32),
                add(100),
                "endif (16|M0) 16".into(),
                add(1000),
            ];
            let state = run(platform, &source.join("\n"), State::numbered());
            let expected = std::array::from_fn(|channel| if channel < limit as usize { 1001 } else { 1100 });
            assert_eq!(state.dwords(4), expected, "{}", platform.0);
        }
    }
}

#[test]
fn channels_leave_a_loop_after_rounds_of_their_own() {
    // Each channel adds 1 in each round, and leaves before the round of its number; in a block of its own those above 9 leave at once.
    for platform in FORMS {
        let source = [
            add(1),
            "cmp (16|M0) (gt)f0.0 r20.0<1>:ud r2.0<8;8,1>:ud 0x9:ud".into(),
            "(f0.0) if (16|M0) 32 32".into(),
            "break (16|M0) 16 48".into(),
            "endif (16|M0) 32".into(),
            "cmp (16|M0) (lt)f0.0 r20.0<1>:ud r4.0<8;8,1>:ud r2.0<8;8,1>:ud".into(),
            "(f0.0) while (16|M0) -96".into(),
            "add (16|M0) r6.0<1>:ud r4.0<8;8,1>:ud 0x64:ud".into(),
        ];
        let state = run(platform, &source.join("\n"), State::numbered());
        let expected = std::array::from_fn(|channel| match channel {
            0 | 10.. => 101,
            rounds => rounds as u32 + 100,
        });
        assert_eq!(state.dwords(6), expected, "{}", platform.0);
    }
}

#[test]
fn a_loop_in_a_loop_ends_for_each_channel_on_its_own() {
    // The inner loop has as many rounds as the outer one's number says, and both end for good: 1 + 2 + ... + the channel's number.
    let source = [
        "add (16|M0) r8.0<1>:ud r8.0<8;8,1>:ud 0x1:ud".to_owned(),
        "cmp (16|M0) (gt)f0.0 r20.0<1>:ud r8.0<8;8,1>:ud r2.0<8;8,1>:ud".to_owned(),
        "(f0.0) break (16|M0) 112 112".to_owned(),
        "mov (16|M0) r10.0<1>:ud 0x0:ud".to_owned(),
        add(1),
        "add (16|M0) r10.0<1>:ud r10.0<8;8,1>:ud 0x1:ud".to_owned(),
        "cmp (16|M0) (ge)f0.0 r20.0<1>:ud r10.0<8;8,1>:ud r8.0<8;8,1>:ud".to_owned(),
        "(~f0.0) while (16|M0) -48".to_owned(),
        "nop".to_owned(),
        "while (16|M0) -144".to_owned(),
    ];
    let state = run(BDW, &source.join("\n"), State::numbered());
    assert_eq!(state.dwords(4), std::array::from_fn(|channel| (channel * (channel + 1) / 2) as u32));
}

#[test]
fn instructions_without_a_mask_run_when_no_channel_is_there() {
    let source = [
        compare("lt", 0),
        "(f0.0) if (16|M0) 48 48".into(),
        "(W) mov (16|M0) r4.0<1>:ud 0x7:ud".into(),
        "mov (16|M0) r6.0<1>:ud 0x7:ud".into(),
        "endif (16|M0) 16".into(),
    ];
    // The thread jumps over both.
    let state = run(BDW, &source.join("\n"), State::numbered());
    assert_eq!([state.dwords(4), state.dwords(6)], [[0; 16]; 2]);
    let state = run(BDW, &source.join("\n").replace("0x0:ud", "0x3:ud"), State::numbered());
    let three = std::array::from_fn(|channel| if channel < 3 { 7 } else { 0 });
    assert_eq!([state.dwords(4), state.dwords(6)], [[7; 16], three]);
}

#[test]
fn a_predicate_of_four_holds_if_any_flag_of_them_is_set() {
    for platform in FORMS {
        let source = [
            "cmp (16|M0) (eq)f0.0 r20.0<1>:ud r2.0<8;8,1>:ud 0x6:ud",
            "(f0.0.any4h) mov (16|M0) r4.0<1>:ud 0x1:ud",
            "(~f0.0.any4h) mov (16|M0) r6.0<1>:ud 0x1:ud",
        ];
        let state = run(platform, &source.join("\n"), State::numbered());
        let of = |holds| std::array::from_fn(|channel| u32::from((channel / 4 == 1) == holds));
        assert_eq!([state.dwords(4), state.dwords(6)], [of(true), of(false)], "{}", platform.0);
    }
}

#[test]
fn channels_that_are_not_dispatched_execute_nothing() {
    let source = [&compare("lt", 8), "(f0.0) if (16|M0) 32 32", &add(1), "endif (16|M0) 16"].join("\n");
    let state = run_on(BDW, &source, State::numbered(), 0x0ff0).unwrap();
    assert_eq!(state.dwords(4), std::array::from_fn(|channel| u32::from((4..8).contains(&channel))));
}

#[test]
fn an_endless_loop_is_no_unknown_instruction() {
    let source = "while (16|M0) 0";
    assert!(matches!(run_on(BDW, source, State::numbered(), 0xffff), Err(Stop::Endless)));
    // A long one is neither.
    let source = [
        add(1),
        "cmp (16|M0) (lt)f0.0 r20.0<1>:ud r4.0<8;8,1>:ud 0xC350:ud".into(),
        "(f0.0) while (16|M0) -32".into(),
    ];
    assert_eq!(run(BDW, &source.join("\n"), State::numbered()).dwords(4), [50_000; 16]);
}

#[test]
fn branches_without_a_defined_effect_are_refused() {
    let cases = [
        (format!("break (16|M0) 16 16\n{}", add(1)), "no end of a loop"),
        ("while (16|M0) 16".into(), "after its end"),
        ("endif (16|M0) 1600".into(), "out of the shader"),
        ("endif (16|M0) 24".into(), "a branch by 24 bytes"),
        ("endif (8|M0) 16".into(), "other channels than those of the thread"),
        ("(W) endif (16|M0) 16".into(), "other channels than those of the thread"),
        ("(f0.0) endif (16|M0) 16".into(), "with a predicate"),
        // The jump of those that are left over an instruction that others wait for.
        (
            [
                &compare("lt", 5),
                "(f0.0) if (16|M0) 48 48",
                "else (16|M0) 48 48",
                "endif (16|M0) 16",
                "endif (16|M0) 16",
            ]
            .join("\n"),
            "which the thread leaves out",
        ),
        // Nothing after the end of the thread belongs to the shader.
        (
            [
                &compare("lt", 5),
                "(f0.0) if (16|M0) 48 48",
                "(W) send (8|M0) null r112 0x27 0x02000010 {EOT}",
                "nop",
                "endif (16|M0) 16",
            ]
            .join("\n"),
            "out of the shader",
        ),
    ];
    for (source, why) in cases {
        let error = refused(&source, State::numbered());
        assert!(error.starts_with("instruction ") && error.contains(why), "{error}\n{source}");
    }
}
