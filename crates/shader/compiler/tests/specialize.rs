//! Each error that GL names for glShaderBinary and glSpecializeShader.

use gem_shader_compiler::{Binding, Class, Error, Features, Options, Shader, Stage};
use intel_eu::Platform;

const ENTRIES: &[u8] = include_bytes!("data/entries.spv");
const CONTROL: &[u8] = include_bytes!("data/control.spv");
const NARROW: &[u8] = include_bytes!("data/narrow.spv");
const WIDTHS: &[u8] = include_bytes!("data/widths.spv");

/// Returns the features of a platform that has all that is supported.
fn features() -> Features {
    Features::of(Platform::Skl)
}

/// Returns the error of bytes that are read.
fn refusal(bytes: &[u8]) -> Error {
    Shader::read(bytes).unwrap_err()
}

/// Returns the module with one word replaced.
fn with_word(bytes: &[u8], at: usize, word: u32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
    bytes
}

/// Returns the error of a specialization.
fn misfit(name: &str, stage: Stage, values: &[(u32, u64)]) -> Error {
    Shader::read(ENTRIES).unwrap().specialize(name, stage, values, &features()).unwrap_err()
}

/// Checks an error's class and a part of its text.
fn is(error: &Error, class: Class, text: &str) {
    assert_eq!(error.class(), class, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn a_header_that_is_none_is_an_invalid_value() {
    let bytes = ENTRIES;
    assert!(Shader::read(bytes).is_ok());
    for length in [0, 3, 4, 19, 20, bytes.len() - 1] {
        let error = refusal(&bytes[..length]);
        assert_eq!(error, Error::Length { bytes: length });
        is(&error, Class::InvalidValue, "no SPIR-V module");
    }
    is(&refusal(&with_word(bytes, 0, 0x464c_457f)), Class::InvalidValue, "0x464c457f");
    for (word, version) in [(0x0002_0000, "2.0"), (0x0001_0700, "1.7"), (0x0001_0001, "1.0"), (0, "0.0")] {
        let error = refusal(&with_word(bytes, 1, word));
        is(&error, Class::InvalidValue, &format!("SPIR-V {version} is not supported"));
    }
    is(&refusal(&with_word(bytes, 3, 1 << 30)), Class::InvalidValue, "1073741824 ids");
    is(&refusal(&with_word(bytes, 3, 2)), Class::InvalidValue, "bound 2");
    is(&refusal(&with_word(bytes, 4, 1)), Class::InvalidValue, "schema is 1");
    // The same at the limits of what is supported.
    assert!(Shader::read(&with_word(bytes, 1, 0x0001_0600)).is_ok());
    assert!(Shader::read(&with_word(bytes, 3, 1 << 20)).is_ok());
}

#[test]
fn a_module_of_the_other_byte_order_is_the_same() {
    let swapped: Vec<u8> = CONTROL.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
    let shader = |bytes: &[u8]| {
        let mut shader = Shader::read(bytes).unwrap();
        shader.specialize("main", Stage::Compute, &[(3, 9)], &features()).unwrap();
        shader.compile(Platform::Skl, &Options::default()).unwrap()
    };
    assert_eq!(shader(&swapped), shader(CONTROL));
    // Half of it swapped is none.
    let mixed = [&swapped[..20], &CONTROL[20..]].concat();
    assert!(Shader::read(&mixed).is_err());
}

#[test]
fn the_entry_point_is_chosen_by_name_and_stage() {
    let error = misfit("missing", Stage::Compute, &[]);
    let has = "'main' (compute), 'other' (compute), 'main' (another stage), 'main' (fragment)";
    is(&error, Class::InvalidValue, &format!("no entry point 'missing'; the module has: {has}"));
    is(&misfit("missing", Stage::Fragment, &[]), Class::InvalidValue, "no entry point 'missing'; the module");
    // The name is there, with another stage; with several stages, the asked one is chosen.
    let error = misfit("other", Stage::Fragment, &[]);
    let text = format!("no entry point 'other' of stage fragment; the module has: {has}");
    is(&error, Class::InvalidOperation, &text);
    let shader = |name, stage| {
        let mut shader = Shader::read(ENTRIES).unwrap();
        shader.specialize(name, stage, &[], &features()).unwrap();
        let shader = shader.compile(Platform::Skl, &Options::default()).unwrap();
        let bindings: Vec<_> =
            shader.surfaces.iter().map(|used| (used.binding, used.reads, used.writes)).collect();
        (shader.group, bindings)
    };
    let buffer = |set, binding| (Binding::Buffer { set, binding }, false, true);
    assert_eq!(shader("main", Stage::Compute), ([8, 1, 1], vec![buffer(0, 0)]));
    assert_eq!(shader("other", Stage::Compute), ([4, 4, 1], vec![buffer(1, 3)]));
    let pixels =
        vec![(Binding::Input { location: 2 }, true, false), (Binding::Output { location: 1 }, false, true)];
    assert_eq!(shader("main", Stage::Fragment), ([1, 1, 1], pixels));
}

#[test]
fn a_shader_is_specialized_once_and_before_it_is_compiled() {
    let mut shader = Shader::read(ENTRIES).unwrap();
    let error = shader.compile(Platform::Skl, &Options::default()).unwrap_err();
    assert_eq!(error, Error::NotSpecialized);
    is(&error, Class::InvalidOperation, "not specialized");
    // A refusal chooses nothing.
    assert!(shader.specialize("missing", Stage::Compute, &[], &features()).is_err());
    shader.specialize("main", Stage::Compute, &[], &features()).unwrap();
    let error = shader.specialize("main", Stage::Compute, &[], &features()).unwrap_err();
    assert_eq!(error, Error::Specialized);
    is(&error, Class::InvalidOperation, "specialized before");
    assert!(shader.compile(Platform::Skl, &Options::default()).is_ok());
}

#[test]
fn values_are_for_constants_that_the_module_has() {
    let error = misfit("main", Stage::Compute, &[(7, 1), (99, 1)]);
    assert_eq!(error, Error::SpecializationId { id: 99, has: vec![7, 8, 9, 10, 11, 12] });
    is(&error, Class::InvalidValue, "specialization id 99");
    let constants = [(7, 1), (8, 0), (9, 1), (10, u64::MAX), (11, u64::from(1.0_f32.to_bits())), (12, 1)];
    let mut shader = Shader::read(ENTRIES).unwrap();
    assert_eq!(shader.specialize("main", Stage::Compute, &constants, &features()), Ok(()));
}

/// Returns the code of the module with narrow constants, with values.
fn narrow(values: &[(u32, u64)]) -> Result<Vec<u8>, Error> {
    let mut shader = Shader::read(NARROW).unwrap();
    shader.specialize("main", Stage::Compute, values, &features())?;
    Ok(shader.compile(Platform::Skl, &Options::default()).unwrap().code)
}

#[test]
fn a_value_has_the_bits_of_its_constant() {
    let shader = Shader::read(NARROW).unwrap();
    let types = (0..6).map(|id| shader.constant(id).unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(types, ["float16", "int8", "uint16", "int64", "float64", "bool"]);
    // The bits of the float 1.5 are none of a half float, nor is 300 an integer of 8 bits.
    for (id, of, bits) in
        [(0, "float16", 0x3fc0_0000), (1, "int8", 300), (1, "int8", 0xff7f), (2, "uint16", 1 << 16)]
    {
        let error = narrow(&[(3, 1), (id, bits)]).unwrap_err();
        let text = format!("specialization constant {id} has type {of}: the value {bits:#x} is wider");
        is(&error, Class::InvalidValue, &text);
    }
    // The module's own values, and a sign that is extended to 32 or 64 bits.
    let code = narrow(&[]).unwrap();
    let own = [(0, 0x4000), (1, 0xfd), (2, 4), (3, 5), (4, 6.0_f64.to_bits()), (5, 1)];
    assert_eq!(narrow(&own).unwrap(), code);
    for minus_three in [0xfd, 0xffff_fffd, -3_i64 as u64] {
        assert_eq!(narrow(&[(1, minus_three)]).unwrap(), code, "{minus_three:#x}");
    }
    for other in [(0, 0x3e00), (1, 3), (2, 0xffff), (3, 5 << 32), (4, 1.5_f64.to_bits()), (5, 0)] {
        assert_ne!(narrow(&[other]).unwrap(), code, "{other:?}");
    }
}

#[test]
fn constants_with_one_id_have_one_value() {
    let code = |values| narrow(values).unwrap();
    // The module has 8 and 9; both become what is given.
    assert_ne!(code(&[(6, 9)]), code(&[]));
    assert_ne!(code(&[(6, 8)]), code(&[]));
    assert_ne!(code(&[(6, 8)]), code(&[(6, 9)]));
    let error = narrow(&[(7, 1)]).unwrap_err();
    is(&error, Class::NotCompiled, "constants of several types with specialization id 7 are not supported");
}

#[test]
fn operations_on_constants_have_the_chosen_values() {
    // The module stores `chosen` in itself: twice the width if both booleans are true, and the width if not.
    let code = |values: &[(u32, u64)]| {
        let mut shader = Shader::read(ENTRIES).unwrap();
        shader.specialize("main", Stage::Compute, values, &features()).unwrap();
        shader.compile(Platform::Skl, &Options::default()).unwrap().code
    };
    assert_eq!(code(&[]), code(&[(7, 3)]));
    assert_ne!(code(&[]), code(&[(7, 6)]));
    assert_eq!(code(&[(12, 1)]), code(&[(7, 6)]));
    assert_eq!(code(&[(12, 1), (8, 0)]), code(&[]));
    assert_eq!(code(&[(12, 7), (7, 5)]), code(&[(7, 10)]));
}

#[test]
fn a_feature_that_the_device_lacks_is_named() {
    let specialize = |bytes: &[u8], features: &Features| {
        Shader::read(bytes).unwrap().specialize("main", Stage::Compute, &[], features)
    };
    assert_eq!(specialize(WIDTHS, &features()), Ok(()));
    let mut fewer = features();
    fewer.capabilities.retain(|one| format!("{one:?}") != "Int64");
    let error = specialize(WIDTHS, &fewer).unwrap_err();
    assert_eq!(error, Error::Capability { name: "Int64".to_owned() });
    is(&error, Class::NotCompiled, "capability Int64");
    let mut fewer = features();
    fewer.extensions.retain(|name| name != "SPV_KHR_16bit_storage");
    let error = specialize(WIDTHS, &fewer).unwrap_err();
    assert_eq!(error, Error::Extension { name: "SPV_KHR_16bit_storage".to_owned() });
    is(&error, Class::NotCompiled, "extension SPV_KHR_16bit_storage");
    // Shaders are for graphics 7.5 and later.
    let error = specialize(ENTRIES, &Features::of(Platform::Ivb)).unwrap_err();
    assert_eq!(error, Error::Capability { name: "Shader".to_owned() });
    assert_eq!(specialize(CONTROL, &Features::of(Platform::Hsw)), Ok(()));
    // OpMemoryModel: the addressing model, and the memory model.
    let model = ENTRIES.chunks(4).position(|word| word == 0x0003_000e_u32.to_le_bytes()).unwrap();
    let error = specialize(&with_word(ENTRIES, model + 1, 1), &features()).unwrap_err();
    is(&error, Class::NotCompiled, "addressing model Physical32");
    let error = specialize(&with_word(ENTRIES, model + 2, 3), &features()).unwrap_err();
    is(&error, Class::NotCompiled, "memory model Vulkan");
}

#[test]
fn the_size_of_a_group_is_limited() {
    let mode = ENTRIES.chunks(4).position(|word| word == 0x0006_0010_u32.to_le_bytes()).unwrap();
    let compile = |size: [u32; 3]| {
        let mut bytes = ENTRIES.to_vec();
        for (place, word) in size.into_iter().enumerate() {
            bytes = with_word(&bytes, mode + 3 + place, word);
        }
        let mut shader = Shader::read(&bytes).unwrap();
        shader.specialize("main", Stage::Compute, &[], &features()).unwrap();
        shader.compile(Platform::Skl, &Options::default()).map(|shader| shader.group)
    };
    for size in [[1024, 1, 1], [1, 1024, 1], [8, 8, 16]] {
        assert_eq!(compile(size), Ok(size));
    }
    for size in [[1025, 1, 1], [32, 32, 2], [1 << 16, 1 << 16, 1], [u32::MAX, u32::MAX, u32::MAX]] {
        is(&compile(size).unwrap_err(), Class::NotCompiled, "1024 are the most");
    }
    is(&compile([8, 0, 1]).unwrap_err(), Class::InvalidValue, "no lanes");
}
