//! Operations in kernels.

use intel_eu::execute::{Stop, Why, check};
use intel_eu::{Opcode, Platform};

use super::surfaces::{stored, storing};

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
fn functions_that_are_approximated_are_refused() {
    for text in [
        "math.inv (8|M0) r10.0<1>:f r2.0<8;8,1>:f",
        "math.sqt (8|M0) r10.0<1>:f r2.0<8;8,1>:f",
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
        assert_eq!(
            product(platform, "0x7:uw"),
            Ok(NUMBERS.map(|number| number.wrapping_mul(7))),
            "{platform}"
        );
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
