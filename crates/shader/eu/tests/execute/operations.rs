//! Operations in shaders.

use intel_eu::execute::{Stop, Why};
use intel_eu::{Opcode, Platform};

use super::surfaces::{check, stored, storing};

const NUMBERS: [u32; 16] =
    [0, 1, 2, 6, 7, 8, 99, 100, 0x8000_0000, 0x7fff_ffff, 0xffff_ffff, 0xffff_fff9, 14, 15, 3, 49];

#[test]
fn integers_are_divided() {
    let text = |function, kind| {
        format!(
            "(W) mov (8|M0) r4.0<1>:ud 0x7:ud
            math.{function} (8|M0) r10.0<1>:{kind} r2.0<8;8,1>:{kind} r4.0<8;8,1>:{kind}
            math.{function} (8|M8) r11.0<1>:{kind} r3.0<8;8,1>:{kind} r4.0<8;8,1>:{kind}"
        )
    };
    for platform in [Platform::Hsw, Platform::Bdw, Platform::Jsl, Platform::Tgl] {
        let result = |function, kind| stored(platform, 0xffff, NUMBERS, &text(function, kind)).unwrap();
        assert_eq!(result("iqot", "ud"), NUMBERS.map(|number| number / 7), "{platform}");
        assert_eq!(result("irem", "ud"), NUMBERS.map(|number| number % 7), "{platform}");
        assert_eq!(result("iqot", "d"), NUMBERS.map(|number| (number as i32 / 7) as u32), "{platform}");
        assert_eq!(result("irem", "d"), NUMBERS.map(|number| (number as i32 % 7) as u32), "{platform}");
    }
}

#[test]
fn a_division_without_a_result_is_refused() {
    let divide = |kind, numbers| {
        let text = format!("math.iqot (8|M0) r10.0<1>:{kind} r3.0<8;8,1>:{kind} r2.0<8;8,1>:{kind}");
        stored(Platform::Skl, 0x1, numbers, &text)
    };
    let mut numbers = [0; 16];
    numbers[8] = 5;
    let why = Why::Division { dividend: 5, divisor: 0 };
    assert_eq!(divide("ud", numbers), Err(Stop { at: 32, why }));
    numbers[8] = 0x8000_0000;
    numbers[0] = 0xffff_ffff;
    let why = Why::Division { dividend: -0x8000_0000, divisor: -1 };
    assert_eq!(divide("d", numbers), Err(Stop { at: 32, why }));
    assert_eq!(divide("ud", numbers), Ok([0; 16]));
}

#[test]
fn functions_of_floats_are_rounded_once() {
    let function = |platform, function: &str, numbers: [f32; 16]| {
        let text = format!(
            "math.{function} (8|M0) r10.0<1>:f r2.0<8;8,1>:f
            math.{function} (8|M8) r11.0<1>:f r3.0<8;8,1>:f"
        );
        stored(platform, 0xffff, numbers.map(f32::to_bits), &text).unwrap().map(f32::from_bits)
    };
    // Numbers whose results are floats: no rounding can hide a wrong function.
    let powers: [f32; 16] = std::array::from_fn(|at| f32::powi(4.0, at as i32 - 8));
    let exponents: [f32; 16] = std::array::from_fn(|at| at as f32 - 8.0);
    for platform in [Platform::Hsw, Platform::Bdw, Platform::Jsl, Platform::Tgl] {
        assert_eq!(function(platform, "inv", powers), powers.map(|number| 1.0 / number), "{platform}");
        assert_eq!(function(platform, "log", powers), exponents.map(|number| 2.0 * number), "{platform}");
        assert_eq!(
            function(platform, "exp", exponents),
            exponents.map(|n| f32::powi(2.0, n as i32)),
            "{platform}"
        );
        assert_eq!(
            function(platform, "sqt", powers),
            exponents.map(|n| f32::powi(2.0, n as i32)),
            "{platform}"
        );
        assert_eq!(
            function(platform, "rsqt", powers),
            exponents.map(|n| f32::powi(2.0, -n as i32)),
            "{platform}"
        );
        // sin(x)^2 + cos(x)^2 = 1, sin(2x) = 2 sin(x) cos(x).
        let (sines, cosines) = (function(platform, "sin", exponents), function(platform, "cos", exponents));
        let doubled = function(platform, "sin", exponents.map(|number| 2.0 * number));
        for ((sine, cosine), doubled) in sines.into_iter().zip(cosines).zip(doubled) {
            assert!((sine * sine + cosine * cosine - 1.0).abs() < 1e-6, "{platform} {sine} {cosine}");
            assert!((2.0 * sine * cosine - doubled).abs() < 1e-6, "{platform} {sine} {cosine} {doubled}");
        }
    }
    // From tables.
    assert_eq!(function(Platform::Skl, "sqt", [2.0; 16]), [std::f32::consts::SQRT_2; 16]);
    assert_eq!(function(Platform::Skl, "sin", [1.0; 16]), [0.841_470_96; 16]);
}

#[test]
fn functions_of_two_floats_are_computed_and_a_power_without_a_value_is_undefined() {
    let function = |function: &str, first: f32, second: f32| {
        let text = format!("math.{function} (8|M0) r10.0<1>:f r2.0<8;8,1>:f r3.0<8;8,1>:f");
        let numbers = std::array::from_fn(|at| if at < 8 { first } else { second }.to_bits());
        stored(Platform::Skl, 0xff, numbers, &text).map(|stored| f32::from_bits(stored[7]))
    };
    assert_eq!(function("fdiv", 7.0, -4.0), Ok(-1.75));
    assert_eq!(function("fdiv", 7.0, 0.0), Ok(f32::INFINITY));
    assert_eq!(function("pow", 9.0, 0.5), Ok(3.0));
    for (base, exponent) in [(-9.0, 2.0), (0.0, 0.0)] {
        let stop = function("pow", base, exponent).unwrap_err();
        assert!(matches!(stop.why, Why::Undefined { .. }), "{stop}");
    }
}

#[test]
fn functions_of_other_types_are_refused() {
    for text in [
        "math.inv (8|M0) r10.0<1>:f r2.0<8;8,1>:d",
        "math.inv (4|M0) r10.0<1>:f r2.0<4;4,1>:df",
        "math.sqt (8|M0) r10.0<1>:ud r2.0<8;8,1>:f",
        "math.idiv (8|M0) r10.0<1>:d r2.0<8;8,1>:d r3.0<8;8,1>:d",
        "math.iqot (8|M0) r10.0<1>:d r2.0<8;8,1>:d r3.0<8;8,1>:ud",
        "math.iqot (8|M0) r10.0<1>:d -r2.0<8;8,1>:d r3.0<8;8,1>:d",
    ] {
        let why = Why::Unknown { opcode: Opcode::Math, what: "the function" };
        assert_eq!(
            check(Platform::Skl, 0xff, &storing(Platform::Skl, text)),
            Err(Stop { at: 32, why }),
            "{text}"
        );
    }
}

#[test]
fn doublewords_are_multiplied_where_the_hardware_can() {
    let product = |platform, second| {
        let text = format!("mul (16|M0) r10.0<1>:ud r2.0<8;8,1>:ud {second}");
        stored(platform, 0xffff, NUMBERS, &text)
    };
    let expected = NUMBERS.map(|number| number.wrapping_mul(0x1_0003));
    let why = Why::Unknown { opcode: Opcode::Mul, what: "the product of doublewords" };
    for platform in [Platform::Bdw, Platform::Skl, Platform::Kbl, Platform::Cfl] {
        assert_eq!(product(platform, "0x10003:ud"), Ok(expected), "{platform}");
    }
    for platform in [Platform::Ivb, Platform::Hsw, Platform::Chv, Platform::Glk, Platform::Jsl, Platform::Tgl]
    {
        assert_eq!(product(platform, "0x10003:ud"), Err(Stop { at: 32, why }), "{platform}");
        assert_eq!(product(platform, "0x8000:ud"), Err(Stop { at: 32, why }), "{platform}");
        // Its lower half is the same number, with and without a sign.
        for (second, factor) in [("0x7:uw", 7), ("0x7:ud", 7), ("0x7FFF:d", 0x7fff)] {
            assert_eq!(
                product(platform, second),
                Ok(NUMBERS.map(|number| number.wrapping_mul(factor))),
                "{platform} {second}"
            );
        }
    }
}

#[test]
fn an_address_register_names_registers() {
    // The bytes of r2, from the address on, and the same with a distance.
    let text = "
        (W) mov (1|M0) a0.0<1>:uw 0x40:uw
        mov (8|M0) r10.0<1>:ud r[a0.0,4]<8;8,1>:ud
        (W) mov (1|M0) a0.1<1>:uw 0x160:uw
        mov (8|M0) r[a0.1]<1>:ud r2.0<8;8,1>:ud";
    let expected: [u32; 16] =
        std::array::from_fn(|at| if at < 8 { NUMBERS[at + 1] } else { NUMBERS[at - 8] });
    for platform in [Platform::Hsw, Platform::Bdw, Platform::Skl, Platform::Jsl, Platform::Tgl] {
        assert_eq!(stored(platform, 0xff, NUMBERS, text), Ok(expected), "{platform}");
    }
    let far = text.replace("0x40:uw", "0xFF0:uw");
    let why = Why::Register { opcode: Opcode::Mov, operand: "a source" };
    assert_eq!(stored(Platform::Skl, 0xff, NUMBERS, &far), Err(Stop { at: 48, why }));
    assert!(check(Platform::Skl, 0xff, &storing(Platform::Skl, &far)).is_ok(), "the address is a number");
}

const FACTORS: [u32; 16] = [
    0,
    1,
    3,
    0xffff_ffff,
    0x8000_0000,
    0x7fff_ffff,
    0x1234_5678,
    0x1_0000,
    1,
    2,
    0xffff_ffff,
    0xffff_fffe,
    0x8000_0000,
    0x8000_0001,
    0x9abc_def0,
    0xffff,
];

/// The product of r2 and r3: its lower half in r11, its upper half in r10.
const PRODUCT: &str = "mul (8|M0) acc0.0<1>:KIND r2.0<8;8,1>:KIND r3.0<16;8,2>:uw
    mach (8|M0) r10.0<1>:KIND r2.0<8;8,1>:KIND r3.0<8;8,1>:KIND {AccWrEn}
    mov (8|M0) r11.0<1>:KIND acc0.0<8;8,1>:KIND";

#[test]
fn the_accumulator_has_the_whole_product() {
    let products: [fn(u32, u32) -> u64; 2] =
        [|a, b| u64::from(a) * u64::from(b), |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64];
    for platform in [Platform::Hsw, Platform::Bdw, Platform::Skl, Platform::Jsl, Platform::Tgl] {
        for (kind, product) in ["ud", "d"].into_iter().zip(products) {
            let expected = std::array::from_fn(|at| {
                let whole = product(FACTORS[at % 8], FACTORS[at % 8 + 8]);
                if at < 8 { (whole >> 32) as u32 } else { whole as u32 }
            });
            let got = stored(platform, 0xff, FACTORS, &PRODUCT.replace("KIND", kind));
            assert_eq!(got, Ok(expected), "{platform} {kind}");
        }
    }
}

#[test]
fn words_are_accumulated_while_they_are_words() {
    let text = "
        mov (16|M0) acc0.0<1>:w r2.0<16;8,2>:w
        add (16|M0) acc0.0<1>:w acc0.0<8;8,1>:w LARGE:w
        mul (16|M0) r10.0<1>:d acc0.0<8;8,1>:w 0x3:w";
    let numbers: [u32; 16] = std::array::from_fn(|at| at as u32 * 100);
    let add = |large| stored(Platform::Skl, 0xffff, numbers, &text.replace("LARGE", large));
    assert_eq!(add("0x7"), Ok(numbers.map(|number| 3 * (number + 7))));
    let why = Why::Accumulator { opcode: Opcode::Add };
    assert_eq!(add("0x7F00"), Err(Stop { at: 48, why }), "the sum is more than a word");
}

#[test]
fn other_uses_of_the_accumulator_are_refused() {
    let refused = |text: &str| check(Platform::Skl, 0xffff, &storing(Platform::Skl, text));
    let product = PRODUCT.replace("KIND", "d");
    assert!(refused(&product).is_ok());
    for (at, text) in [
        (32, product.replace("r3.0<16;8,2>:uw", "r3.0<8;8,1>:d")),
        (48, product.replace(" {AccWrEn}", "")),
        (48, product.replace("mach (8|M0)", "mach (8|M8)")),
        (48, product.replace("mach (8|M0)", "mach (16|M0)")),
        (48, product.replace("r3.0<8;8,1>:d", "-r3.0<8;8,1>:d")),
        (64, product.replace("acc0.0<8;8,1>:d", "acc0.0<8;8,1>:f")),
        (32, "add (8|M0) r10.0<1>:d r2.0<8;8,1>:d r3.0<8;8,1>:d {AccWrEn}".to_owned()),
        (32, "shl (8|M0) acc0.0<1>:d r2.0<8;8,1>:d 0x3:uw".to_owned()),
        (32, "mac (8|M0) r10.0<1>:d r2.0<16;8,2>:w r3.0<16;8,2>:w".to_owned()),
    ] {
        let stop = refused(&text).unwrap_err();
        let reasons = ["the accumulator", "the effect", "the product of doublewords"];
        let is_right = matches!(stop.why, Why::Unknown { what, .. } if reasons.contains(&what));
        assert!(is_right && stop.at == at, "{text}: {stop}");
    }
    let sixteen = "mov (16|M0) acc0.0<1>:d r2.0<8;8,1>:d";
    let why = Why::Register { opcode: Opcode::Mov, operand: "the destination" };
    assert_eq!(refused(sixteen), Err(Stop { at: 32, why }), "it has eight doublewords");
    // Of a product, nothing but the lower half can be taken.
    let sum = product
        .replace("mov (8|M0) r11.0<1>:d acc0.0<8;8,1>:d", "add (8|M0) r11.0<1>:d acc0.0<8;8,1>:d 0x1:d");
    let why = Why::Accumulator { opcode: Opcode::Add };
    assert_eq!(stored(Platform::Skl, 0xff, FACTORS, &sum), Err(Stop { at: 64, why }));
    let undefined = "mov (8|M0) r10.0<1>:d acc0.0<8;8,1>:d";
    let why = Why::Undefined { opcode: Opcode::Send, what: "a stored byte" };
    assert_eq!(stored(Platform::Skl, 0xff, FACTORS, undefined), Err(Stop { at: 64, why }));
}

#[test]
fn dim_moves_a_double() {
    let dim = "dim (1|M0) r10.0<1>:df -1.5:df";
    let numbers = stored(Platform::Hsw, 0xffff, NUMBERS, dim).unwrap();
    assert_eq!(numbers[..2], [0, 0xbff8_0000]);
}
