//! Numbers of all types, and operations on them.

use super::{BDW, FORMS, State, refused, run};

/// The result of an instruction on r2 and r4, in r6: sixteen dwords.
fn on(operation: &str, first: impl Fn(u32) -> u32, second: impl Fn(u32) -> u32) -> Vec<[u32; 16]> {
    let state = || State::buffer(Vec::new()).with(2, &first).with(4, &second);
    FORMS.iter().map(|platform| run(*platform, operation, state()).dwords(6)).collect()
}

/// The results of instructions: of dwords, of floats, of two numbers, and of a number of 64 bits and a count.
type OfDword = fn(u32) -> u32;
type OfFloat = fn(f32) -> f32;
type OfTwo = fn(f64, f64) -> f64;
type OfLong = fn(u64, u32) -> u64;

/// Some numbers of all magnitudes.
fn some(channel: u32) -> u32 {
    [
        0,
        1,
        2,
        7,
        0x80,
        0xff,
        0x1234,
        0x8000,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0xdead_beef,
        u32::MAX,
        12,
        3,
    ][channel as usize]
}

#[test]
fn bits_of_dwords_are_counted_found_and_reversed() {
    let cases: [(&str, OfDword); 4] = [
        ("cbit", |dword| (0..32).map(|bit| dword >> bit & 1).sum()),
        ("fbl", |dword| (0..32).find(|bit| dword >> bit & 1 != 0).unwrap_or(u32::MAX)),
        ("bfrev", |dword| (0..32).map(|bit| (dword >> bit & 1) << (31 - bit)).sum()),
        ("lzd", |dword| (0..32).rev().position(|bit| dword >> bit & 1 != 0).unwrap_or(32) as u32),
    ];
    for (name, expected) in cases {
        let source = format!("{name} (16|M0) r6.0<1>:ud r2.0<8;8,1>:ud");
        let expected = std::array::from_fn(|channel| expected(some(channel as u32)));
        assert_eq!(on(&source, some, |_| 0), [expected; 5], "{name}");
    }
    assert!(refused("lzd (16|M0) r6.0<1>:ud r2.0<8;8,1>:d", State::numbered()).contains("than a dword"));
}

#[test]
fn quotients_are_cut_towards_zero_and_remainders_have_the_dividend_s_sign() {
    let both = |function: &str, kind: &str| {
        let half = |channels: &str, to: u32| {
            let [a, b] = [to - 4, to - 2];
            format!(
                "math.{function} (8|{channels}) r{to}.0<1>:{kind} r{a}.0<8;8,1>:{kind} r{b}.0<8;8,1>:{kind}"
            )
        };
        format!("{}\n{}", half("M0", 6), half("M8", 7))
    };
    let dividend = |channel: u32| (channel as i32 * 7 - 50) as u32;
    let divisor = |channel: u32| (if channel.is_multiple_of(2) { -3 } else { 4 }) as u32;
    let signed = |operation: fn(i32, i32) -> i32| {
        std::array::from_fn(|channel| {
            operation(dividend(channel as u32) as i32, divisor(channel as u32) as i32) as u32
        })
    };
    assert_eq!(on(&both("iqot", "d"), dividend, divisor), [signed(|a, b| a / b); 5]);
    assert_eq!(on(&both("irem", "d"), dividend, divisor), [signed(|a, b| a % b); 5]);
    let unsigned = std::array::from_fn(|channel| dividend(channel as u32) / divisor(channel as u32));
    assert_eq!(on(&both("iqot", "ud"), dividend, divisor), [unsigned; 5]);
    assert!(refused(&both("iqot", "d"), State::numbered()).contains("divided by 0"));
}

#[test]
fn shifts_of_signed_dwords_keep_the_sign() {
    let expected = std::array::from_fn(|channel| (some(channel as u32) as i32 >> (channel % 32)) as u32);
    let found = on("asr (16|M0) r6.0<1>:d r2.0<8;8,1>:d r4.0<8;8,1>:ud", some, |channel| channel + 32);
    assert_eq!(found, [expected; 5]);
    let error = refused("asr (16|M0) r6.0<1>:d r2.0<8;8,1>:ud r4.0<8;8,1>:ud", State::numbered());
    assert!(error.contains("an arithmetic shift"), "{error}");
}

#[test]
fn floats_are_rounded_in_three_ways() {
    let number = |channel: u32| channel as f32 * 0.5 - 3.5;
    let cases: [(&str, OfFloat); 3] =
        [("rndd", f32::floor), ("rnde", f32::round_ties_even), ("rndz", f32::trunc)];
    for (name, expected) in cases {
        let source = format!("{name} (16|M0) r6.0<1>:f r2.0<8;8,1>:f");
        let expected = std::array::from_fn(|channel| expected(number(channel as u32)).to_bits());
        assert_eq!(on(&source, |channel| number(channel).to_bits(), |_| 0), [expected; 5], "{name}");
    }
}

#[test]
fn functions_of_floats_are_those_of_mathematics() {
    let cases: [(&str, OfTwo); 7] = [
        ("log", |a, _| a.log2()),
        ("exp", |a, _| a.exp2()),
        ("sqt", |a, _| a.sqrt()),
        ("rsqt", |a, _| 1.0 / a.sqrt()),
        ("sin", |a, _| a.sin()),
        ("cos", |a, _| a.cos()),
        ("fdiv", |a, b| a / b),
    ];
    let (a, b) = (|channel: u32| 0.75 + channel as f32, |channel: u32| 3.0 - 2.0 * channel as f32);
    for (name, expected) in cases {
        let second = if name == "fdiv" { " r4.0<8;8,1>:f" } else { "" };
        let source = format!("math.{name} (8|M0) r6.0<1>:f r2.0<8;8,1>:f{second}");
        let found = on(&source, |channel| a(channel).to_bits(), |channel| b(channel).to_bits());
        for found in found {
            for channel in 0..8 {
                let expected = expected(a(channel).into(), b(channel).into());
                let found = f64::from(f32::from_bits(found[channel as usize]));
                assert!((found - expected).abs() <= expected.abs() * 1e-7, "{name}: {found} {expected}");
            }
        }
    }
    let negative = State::buffer(Vec::new()).with(2, |_| (-1.0_f32).to_bits());
    let error = refused("math.sqt (8|M0) r6.0<1>:f r2.0<8;8,1>:f", negative);
    assert!(error.contains("a NaN"), "{error}");
}

#[test]
fn half_floats_are_floats_and_back() {
    // All of them, two in each dword: those that are no NaN and not subnormal.
    let kept = |half: u32| half & 0x7c00 != 0x7c00 && half & 0x7c00 != 0 || half & 0x3ff == 0;
    let source = "mov (16|M0) r6.0<1>:f r2.0<16;8,2>:hf\nmov (16|M0) r8.0<2>:hf r6.0<8;8,1>:f";
    for start in (0..0x1_0000).step_by(16).filter(|start| kept(*start) && kept(start + 1)) {
        let state = State::buffer(Vec::new()).with(2, |channel| start + channel);
        let state = run(BDW, source, state);
        assert_eq!(state.dwords(8).map(|dword| dword & 0xffff), std::array::from_fn(|c| start + c as u32));
    }
    // Values, and how others are rounded: to the even one of two.
    let values = [
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (0x7bff, 65504.0),
        (0x3555, 0.333_251_95),
        (0x0400, 6.103_515_6e-5),
        (0x3c00, 1.000_488_3),
        (0x3c02, 1.001_464_8),
        (0x7bff, 65519.0),
        (0x7c00, 65520.0),
        (0xfc00, f32::NEG_INFINITY),
    ];
    let float =
        |channel: u32| values.get(channel as usize).map_or(0, |(_, value): &(u32, f32)| value.to_bits());
    let state = run(BDW, "mov (16|M0) r6.0<2>:hf r2.0<8;8,1>:f", State::buffer(Vec::new()).with(2, float));
    let found = state.dwords(6).map(|dword| dword & 0xffff);
    assert_eq!(found[..values.len()], values.map(|(half, _)| half));
    let tiny = State::buffer(Vec::new()).with(2, |_| 1e-7_f32.to_bits());
    assert!(refused("mov (16|M0) r6.0<2>:hf r2.0<8;8,1>:f", tiny).contains("subnormal"));
}

#[test]
fn numbers_of_64_bits_are_added_shifted_and_converted() {
    let state = || {
        let number = |channel: u32| (u64::from(some(channel)) << 20) + 0xffff_fff0;
        let pair = move |channel: u32| (number(channel / 2) >> (32 * (channel % 2))) as u32;
        (number, State::buffer(Vec::new()).with(2, pair).with(10, |channel| channel * 13))
    };
    let long = |state: &State, index: usize| {
        let dwords = state.dwords(6);
        u64::from(dwords[2 * index]) | u64::from(dwords[2 * index + 1]) << 32
    };
    let cases: [(&str, OfLong); 4] = [
        ("add (4|M0) r6.0<1>:uq r2.0<4;4,1>:uq r10.0<4;4,1>:ud", |a, b| a.wrapping_add(b.into())),
        ("shl (4|M0) r6.0<1>:uq r2.0<4;4,1>:uq r10.0<4;4,1>:ud", |a, b| a << b),
        ("shr (4|M0) r6.0<1>:uq r2.0<4;4,1>:uq r10.0<4;4,1>:ud", |a, b| a >> b),
        ("mov (4|M0) r6.0<1>:df r2.0<4;4,1>:uq", |a, _| (a as f64).to_bits()),
    ];
    for (source, expected) in cases {
        let (number, state) = state();
        let state = run(BDW, source, state);
        for channel in 0..4 {
            assert_eq!(
                long(&state, channel),
                expected(number(channel as u32), channel as u32 * 13),
                "{source}"
            );
        }
    }
    // A double that is no float, as the nearest one; a float as a double.
    let double = |channel: u32| ((1.0 + 2_f64.powi(-30)).to_bits() >> (32 * (channel % 2))) as u32;
    let state = run(BDW, "mov (4|M0) r6.0<1>:f r2.0<4;4,1>:df", State::buffer(Vec::new()).with(2, double));
    assert_eq!(state.dwords(6)[..4], [1_f32.to_bits(); 4]);
    let state = run(
        BDW,
        "mov (4|M0) r6.0<1>:df r2.0<4;4,1>:f",
        State::buffer(Vec::new()).with(2, |_| 0.1_f32.to_bits()),
    );
    assert_eq!(long(&state, 3), f64::from(0.1_f32).to_bits());
}

#[test]
fn types_have_codes_of_their_own_in_each_form() {
    // A quadword of all bits but the last one, by a conversion of its sign.
    for platform in [FORMS[1], FORMS[4]] {
        let state = State::buffer(Vec::new()).with(2, |_| (-2_i32) as u32);
        let state = run(platform, "mov (4|M0) r6.0<1>:q r2.0<4;4,1>:d", state);
        assert_eq!(state.dwords(6)[..4], [u32::MAX - 1, u32::MAX, u32::MAX - 1, u32::MAX], "{}", platform.0);
        let state = State::buffer(Vec::new()).with(2, |_| u32::MAX);
        let state = run(platform, "mov (4|M0) r6.0<1>:uq r2.0<4;4,1>:ud", state);
        assert_eq!(state.dwords(6)[..4], [u32::MAX, 0, u32::MAX, 0], "{}", platform.0);
        let state = State::buffer(Vec::new()).with(2, |_| 1.5_f32.to_bits());
        let state = run(platform, "mov (4|M0) r6.0<1>:df r2.0<4;4,1>:f", state);
        assert_eq!(state.dwords(6)[1], (1.5_f64.to_bits() >> 32) as u32, "{}", platform.0);
    }
    for platform in &FORMS[1..] {
        let state = run(*platform, "mov (16|M0) r6.0<2>:hf 0x3e00:hf", State::numbered());
        assert_eq!(state.dwords(6).map(|dword| dword & 0xffff), [0x3e00; 16], "{}", platform.0);
        let halves = State::buffer(Vec::new()).with(2, |_| 0x3e00);
        let state = run(*platform, "mov (16|M0) r6.0<1>:f r2.0<16;8,2>:hf", halves);
        assert_eq!(state.dwords(6), [1.5_f32.to_bits(); 16], "{}", platform.0);
    }
}

#[test]
fn results_that_are_not_known_are_refused() {
    let floats = |number: f32| State::buffer(Vec::new()).with(2, move |_| number.to_bits());
    let cases = [
        ("add (16|M0) r6.0<1>:f r2.0<8;8,1>:f r2.0<8;8,1>:f", 1e-40, "a subnormal float"),
        ("mul (16|M0) r6.0<1>:f r2.0<8;8,1>:f r2.0<8;8,1>:f", 1e-20, "a subnormal float"),
        ("sel (16|M0) (lt)f0.0 r6.0<1>:f r2.0<8;8,1>:f 0x3f800000:f", f32::NAN, "the smaller or larger one"),
        ("mov (16|M0) r6.0<1>:d r2.0<8;8,1>:f", f32::NAN, "the conversion of a NaN"),
        ("mov (16|M0) r6.0<2>:w r2.0<8;8,1>:f", 40_000.0, "40000 as an integer"),
        ("add (4|M0) r6.0<1>:df r2.0<4;4,1>:df r4.0<4;4,1>:f", 1.0, "doubles with other floats"),
        ("math.sqt (8|M0) r6.0<1>:hf r2.0<8;8,1>:hf", 1.0, "a function of other types"),
    ];
    for (source, number, why) in cases {
        let error = refused(source, floats(number));
        assert!(error.contains(why), "{error}\n{source}");
    }
    // The same without the reason.
    let saturated = run(BDW, "mov (16|M0) (sat) r6.0<2>:w r2.0<8;8,1>:f", floats(40_000.0));
    assert_eq!(saturated.dwords(6)[0] & 0xffff, 0x7fff);
    let moved = run(BDW, "mov (16|M0) r6.0<1>:f -r2.0<8;8,1>:f", floats(1e-40));
    assert_eq!(moved.dwords(6), [(-1e-40_f32).to_bits(); 16]);
}
