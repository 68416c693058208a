//! Modules that SPIR-V forbids are refused; their allowed neighbours compile. The verdicts are typed from the specification;
//! with a folder in the environment variable `SHADER_MODULES`, the modules are left there for another judge, spirv-val in `ci/shader-compiler`.

mod build;

use std::sync::atomic::{AtomicUsize, Ordering};

use build::{compile, entry, module};
use gem_shader_compiler::{CompiledShader, Error, Shader};
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, InsertPoint, Instruction, Operand};
use rspirv::spirv::{Capability, Decoration, GlslStd450Op as Glsl, Op, StorageClass, Word};

/// Returns the type with a name: `i8`, `u32`, `f16`, `b`, with the number of components after it (`f32x3`), and of columns (`f32x3x3`).
fn named(b: &mut Builder, name: &str) -> Word {
    let mut parts = name.split('x');
    let kind = parts.next().unwrap();
    let (sign, bits) = kind.split_at(1);
    let mut of = match (sign, bits.parse()) {
        ("f", Ok(bits)) => b.type_float(bits, None),
        ("i", Ok(bits)) => b.type_int(bits, 1),
        ("u", Ok(bits)) => b.type_int(bits, 0),
        _ => b.type_bool(),
    };
    for (place, count) in parts.enumerate() {
        let count = count.parse().unwrap();
        of = if place == 0 { b.type_vector(of, count) } else { b.type_matrix(of, count) };
    }
    of
}

/// Leaves a module for another judge, with the verdict in its name.
fn leave(verdict: &str, words: &[u32]) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let Some(folder) = std::env::var_os("SHADER_MODULES") else { return };
    // Relaxed: a number is all that is shared.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(std::path::Path::new(&folder).join(format!("{verdict}-{number}.spv")), bytes).unwrap();
}

/// Leaves a module, and compiles it.
fn judged(verdict: &str, b: Builder) -> Result<CompiledShader, Error> {
    let module = b.module();
    leave(verdict, &module.assemble());
    compile(Builder::new_from_module(module))
}

/// Checks that a module is refused with a text.
#[track_caller]
fn refused(b: Builder, text: &str) {
    let module = b.module();
    leave("invalid", &module.assemble());
    build::refused(Builder::new_from_module(module), text);
}

/// Returns a module with numbers of all widths whose entry point has one instruction: its opcode, its type, and the types of its
/// operands, which are zeroes; a number is a literal.
fn one(opcode: Op, result: &str, operands: &[&str]) -> Builder {
    let (mut b, types) = module();
    for capability in
        [Capability::Int8, Capability::Int16, Capability::Int64, Capability::Float16, Capability::Float64]
    {
        b.capability(capability);
    }
    let of = named(&mut b, result);
    let mut found = Vec::new();
    for name in operands {
        found.push(match name.parse() {
            Ok(number) => Operand::LiteralBit32(number),
            Err(_) => {
                let of = named(&mut b, name);
                Operand::IdRef(b.constant_null(of))
            }
        });
    }
    entry(&mut b, types, |b| {
        let result = b.id();
        b.insert_into_block(InsertPoint::End, Instruction::new(opcode, Some(of), Some(result), found))
            .unwrap();
    });
    b
}

/// A type, and those of operands; a number is a literal.
type Case = (&'static str, &'static [&'static str]);

/// Instructions: the opcode, a case that is valid, and those that are not.
const INSTRUCTIONS: &[(Op, Case, &[Case])] = &[
    (Op::FConvert, ("f32", &["f16"]), &[("f32", &["f32"]), ("f16", &["f16"]), ("f32", &["i16"])]),
    (
        Op::FConvert,
        ("f64x2", &["f32x2"]),
        &[("f64x2", &["f64x2"]), ("f64x2", &["f32x3"]), ("f64x2", &["f32"])],
    ),
    (Op::UConvert, ("u32", &["i8"]), &[("u32", &["u32"]), ("i32", &["u8"]), ("u32", &["f16"])]),
    (Op::SConvert, ("i32", &["i16"]), &[("i32", &["i32"]), ("i32", &["u32"]), ("i32x2", &["i16"])]),
    (Op::ConvertFToU, ("u32", &["f32"]), &[("i32", &["f32"]), ("u32", &["u32"])]),
    (Op::ConvertFToS, ("i32", &["f32"]), &[("i32", &["f32x2"]), ("f32", &["f32"])]),
    (Op::ConvertSToF, ("f32", &["i32"]), &[("f32", &["f32"]), ("i32", &["i32"])]),
    (Op::Bitcast, ("f32", &["u32"]), &[("f32", &["u16"]), ("u64", &["f32"]), ("u32", &["b"])]),
    (Op::Bitcast, ("u32x2", &["u64"]), &[("u32x3", &["u64"]), ("u32x2", &["u16x2"])]),
    (
        Op::IAdd,
        ("i32", &["u32", "i32"]),
        &[("i32", &["i16", "i32"]), ("i32", &["f32", "i32"]), ("f32", &["f32", "f32"])],
    ),
    (
        Op::FAdd,
        ("f32", &["f32", "f32"]),
        &[("f32", &["f16", "f32"]), ("f32x2", &["f32", "f32"]), ("i32", &["i32", "i32"])],
    ),
    (Op::UDiv, ("u32", &["u32", "u32"]), &[("i32", &["i32", "i32"]), ("u32", &["i32", "u32"])]),
    (Op::SNegate, ("i32", &["i32"]), &[("i32", &["i64"]), ("i32x2", &["i32"])]),
    (
        Op::ShiftLeftLogical,
        ("u32", &["u32", "u8"]),
        &[("u32", &["u64", "u32"]), ("u32", &["u32", "f32"]), ("u32x2", &["u32x2", "u32"])],
    ),
    (Op::BitwiseAnd, ("u32", &["i32", "u32"]), &[("u32", &["u32", "u16"]), ("b", &["b", "b"])]),
    (Op::BitCount, ("u32", &["u32"]), &[("u32", &["u32x2"]), ("u32", &["f32"])]),
    (Op::BitCount, ("u8", &["i32"]), &[("u8", &["f32"]), ("f32", &["i32"])]),
    (
        Op::BitFieldUExtract,
        ("u32", &["u32", "i8", "u32"]),
        &[("u32", &["i32", "u32", "u32"]), ("u32", &["u32", "f32", "u32"])],
    ),
    (
        Op::IEqual,
        ("b", &["u32", "i32"]),
        &[("b", &["u32", "u16"]), ("u32", &["u32", "u32"]), ("b", &["f32", "f32"])],
    ),
    (
        Op::FOrdLessThan,
        ("b", &["f32", "f32"]),
        &[("b", &["f32", "f16"]), ("bx2", &["f32", "f32"]), ("b", &["i32", "i32"])],
    ),
    (Op::LogicalAnd, ("b", &["b", "b"]), &[("b", &["b", "u32"]), ("u32", &["u32", "u32"])]),
    (Op::Any, ("b", &["bx2"]), &[("b", &["b"]), ("bx2", &["bx2"])]),
    (
        Op::Select,
        ("f32", &["b", "f32", "f32"]),
        &[("f32", &["b", "f32", "f16"]), ("f32", &["u32", "f32", "f32"]), ("f32", &["bx2", "f32", "f32"])],
    ),
    (
        Op::Select,
        ("f32x2", &["bx2", "f32x2", "f32x2"]),
        // One boolean for all components is allowed from SPIR-V 1.4 on.
        &[("f32x2", &["b", "f32x2", "f32x2"]), ("f32x2x2", &["b", "f32x2x2", "f32x2x2"])],
    ),
    (
        Op::Dot,
        ("f32", &["f32x3", "f32x3"]),
        &[("f32", &["f32x3", "f32x2"]), ("f32", &["f32", "f32"]), ("f16", &["f32x2", "f32x2"])],
    ),
    (
        Op::VectorTimesScalar,
        ("f32x2", &["f32x2", "f32"]),
        &[("f32x2", &["f32x2", "f16"]), ("f32x2", &["f32x2", "f32x2"])],
    ),
    (
        Op::MatrixTimesVector,
        ("f32x3", &["f32x3x2", "f32x2"]),
        &[
            ("f32x2", &["f32x3x2", "f32x2"]),
            ("f32x3", &["f32x3x2", "f32x3"]),
            ("f32x3", &["f32x2", "f32x3x2"]),
        ],
    ),
    (Op::MatrixTimesMatrix, ("f32x2x4", &["f32x2x3", "f32x3x4"]), &[("f32x2x4", &["f32x2x3", "f32x2x4"])]),
    (Op::Transpose, ("f32x2x3", &["f32x3x2"]), &[("f32x3x2", &["f32x3x2"])]),
    (
        Op::CompositeConstruct,
        ("f32x3", &["f32x2", "f32"]),
        &[("f32x3", &["f32x2"]), ("f32x3", &["f32x2", "f32x2"]), ("f32x3", &["f16", "f32", "f32"])],
    ),
    (
        Op::CompositeExtract,
        ("f32", &["f32x2x3", "2", "1"]),
        &[
            ("f32", &["f32x2x3", "3", "1"]),
            ("f32", &["f32x2x3", "2", "2"]),
            ("u32", &["f32x2", "0"]),
            ("f32", &["f32x2", "0", "0"]),
        ],
    ),
    (
        Op::CompositeInsert,
        ("u32x2", &["u32", "u32x2", "1"]),
        &[
            ("u32x2", &["i32", "u32x2", "1"]),
            ("u32x2", &["u32", "u32x2", "2"]),
            ("u32x2", &["u32", "i32x2", "1"]),
        ],
    ),
    (
        Op::VectorShuffle,
        ("f32x3", &["f32x2", "f32x2", "0", "3", "4294967295"]),
        &[
            ("f32x3", &["f32x2", "f32x2", "0", "4", "1"]),
            ("f32x2", &["f32x2", "f32x2", "0", "1", "2"]),
            ("f32x2", &["f32x2", "u32x2", "0", "1"]),
        ],
    ),
    (
        Op::VectorExtractDynamic,
        ("f32", &["f32x2", "u8"]),
        &[("f32", &["f32x2", "f32"]), ("u32", &["f32x2", "u32"])],
    ),
    (
        Op::VectorInsertDynamic,
        ("f32x2", &["f32x2", "f32", "u32"]),
        &[("f32x2", &["f32x2", "u32", "u32"]), ("f32x2", &["f32x3", "f32", "u32"])],
    ),
    (Op::CopyObject, ("u32", &["u32"]), &[("i32", &["u32"])]),
];

/// Functions of the extended set, in the same way.
const FUNCTIONS: &[(Glsl, Case, &[Case])] = &[
    (
        Glsl::FAbs,
        ("f32x2", &["f32x2"]),
        &[("f32", &["f32x2"]), ("f32x2", &["f32x2", "f32x2"]), ("f16x2", &["f32x2"])],
    ),
    (
        Glsl::SMax,
        ("i32", &["u32", "i32"]),
        &[("i32", &["i16", "i32"]), ("f32", &["f32", "f32"]), ("i32", &["i32"])],
    ),
    (Glsl::FMix, ("f32x2", &["f32x2", "f32x2", "f32x2"]), &[("f32x2", &["f32x2", "f32x2", "f32"])]),
    (Glsl::Length, ("f32", &["f32x3"]), &[("f32x3", &["f32x3"]), ("f16", &["f32x3"])]),
    (Glsl::Cross, ("f32x3", &["f32x3", "f32x3"]), &[("f32x2", &["f32x2", "f32x2"])]),
    (Glsl::Determinant, ("f32", &["f32x2x2"]), &[("f32", &["f32x2x3"]), ("f16", &["f32x2x2"])]),
    (Glsl::PackHalf2x16, ("u32", &["f32x2"]), &[("u32", &["f16x2"]), ("u32", &["f32x3"])]),
    (Glsl::UnpackUnorm4x8, ("f32x4", &["i32"]), &[("f32x4", &["i16"]), ("f32x2", &["i32"])]),
    (
        Glsl::Refract,
        ("f32x2", &["f32x2", "f32x2", "f16"]),
        &[("f32x2", &["f32x2", "f32x2", "f32x2"]), ("f32x2", &["f32x2", "f32x3", "f32"])],
    ),
    (Glsl::Ldexp, ("f32", &["f32", "i32"]), &[("f32", &["f32", "f32"]), ("f32", &["f32", "i32x2"])]),
];

#[test]
fn operands_have_the_types_that_an_instruction_requires() {
    for (opcode, right, wrong) in INSTRUCTIONS {
        let text = |(result, operands): &(&str, &[&str])| format!("{opcode:?} {result} {operands:?}");
        judged("valid", one(*opcode, right.0, right.1))
            .unwrap_or_else(|error| panic!("{}: {error}", text(right)));
        for case in *wrong {
            let error = judged("invalid", one(*opcode, case.0, case.1)).err();
            let error = error.unwrap_or_else(|| panic!("{} compiles", text(case))).to_string();
            assert!(error.starts_with(&format!("the module is malformed: Op{opcode:?} %")), "{error}");
        }
    }
}

/// Returns a module whose entry point has an instruction of the extended set.
fn function(function: Glsl, result: &str, operands: &[&str]) -> Builder {
    let mut b = one(Op::Undef, result, &[]);
    let set = b.ext_inst_import("GLSL.std.450");
    let mut found = vec![Operand::IdRef(set), Operand::LiteralExtInstInteger(function as u32)];
    for name in operands {
        let of = named(&mut b, name);
        found.push(Operand::IdRef(b.constant_null(of)));
    }
    let undefined = b.module_mut().functions[0].blocks[0].instructions.first_mut().unwrap();
    undefined.operands = found;
    undefined.class = Instruction::new(Op::ExtInst, None, None, Vec::new()).class;
    b
}

#[test]
fn operands_have_the_types_that_an_extended_instruction_requires() {
    for (name, right, wrong) in FUNCTIONS {
        judged("valid", function(*name, right.0, right.1))
            .unwrap_or_else(|error| panic!("{name:?} {right:?}: {error}"));
        for case in *wrong {
            let error = judged("invalid", function(*name, case.0, case.1)).err();
            let error = error.unwrap_or_else(|| panic!("{name:?} {case:?} compiles")).to_string();
            assert!(error.starts_with("the module is malformed: OpExtInst %"), "{error}");
        }
    }
}

/// Types of which a neighbour of a valid case has one.
const TYPES: [&str; 20] = [
    "b", "bx2", "u8", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "u32x2", "i32x2", "f16x2",
    "f32x2", "f32x3", "f32x4", "f64x2", "f32x2x2", "f32x2x3",
];

/// Returns the valid case and its neighbours: those that differ in one type.
fn neighbours((result, operands): &Case) -> Vec<(&'static str, Vec<&'static str>)> {
    let own = (*result, operands.to_vec());
    let mut all: Vec<_> = TYPES.iter().map(|name| (*name, own.1.clone())).collect();
    for place in (0..operands.len()).filter(|place| operands[*place].parse::<u32>().is_err()) {
        all.extend(TYPES.iter().map(|name| {
            let mut changed = own.1.clone();
            changed[place] = name;
            (*result, changed)
        }));
    }
    all
}

#[test]
fn neighbours_of_valid_instructions_compile_or_are_malformed() {
    let [mut shaders, mut malformed, mut limits] = [0; 3];
    let mut judge = |b: Builder| {
        let module = b.module();
        let words = module.assemble();
        match compile(Builder::new_from_module(module)) {
            Ok(_) => {
                leave("valid", &words);
                shaders += 1;
            }
            Err(Error::Malformed { .. }) => {
                leave("invalid", &words);
                malformed += 1;
            }
            Err(_) => {
                // It says nothing of the rules.
                leave("unjudged", &words);
                limits += 1;
            }
        }
    };
    for (opcode, right, _) in INSTRUCTIONS {
        neighbours(right).iter().for_each(|(result, operands)| judge(one(*opcode, result, operands)));
    }
    for (name, right, _) in FUNCTIONS {
        neighbours(right).iter().for_each(|(result, operands)| judge(function(*name, result, operands)));
    }
    assert!(shaders > 100 && malformed > 2000 && limits > 0, "{shaders} {malformed} {limits}");
}

#[test]
fn numbers_need_a_capability_and_a_literal_of_their_width() {
    let number = |has_capability: bool, literal: u32| {
        let (mut b, types) = module();
        if has_capability {
            b.capability(Capability::Int8);
        }
        let byte = b.type_int(8, 1);
        b.constant_bit32(byte, literal);
        entry(&mut b, types, |_| {});
        b
    };
    judged("valid", number(true, 0xffff_ff80)).unwrap();
    judged("valid", number(true, 127)).unwrap();
    refused(number(false, 127), "type int8 needs the capability Int8");
    for literal in [128, 300, 0xffff_ff7f, 0xff] {
        refused(number(true, literal), "its literal is none of type int8");
    }
}

#[test]
fn pointers_lead_to_what_they_are_declared_for() {
    // A struct of an array and a number, in variables.
    let at = |indices: &[u32], pointee: &str, class: StorageClass| {
        let (mut b, types) = module();
        let [number, four] = [types[2], b.constant_bit32(types[2], 4)];
        let array = b.type_array(number, four);
        let float = b.type_float(32, None);
        let block = b.type_struct([array, float]);
        let pointer = b.type_pointer(None, StorageClass::Private, block);
        let variable = b.variable(pointer, None, StorageClass::Private, None);
        let pointee = named(&mut b, pointee);
        let result = b.type_pointer(None, class, pointee);
        let indices: Vec<_> = indices.iter().map(|index| b.constant_bit32(number, *index)).collect();
        entry(&mut b, types, |b| drop(b.access_chain(result, None, variable, indices)));
        b
    };
    let private = StorageClass::Private;
    judged("valid", at(&[0, 3], "u32", private)).unwrap();
    judged("valid", at(&[1], "f32", private)).unwrap();
    refused(at(&[1], "u32", private), "OpAccessChain");
    refused(at(&[2], "f32", private), "has no part");
    refused(at(&[0, 3, 0], "u32", private), "has no part");
    refused(at(&[1], "f32", StorageClass::Function), "a pointer to Private becomes one to Function");
    let store = |value: &str| {
        let (mut b, types) = module();
        let pointer = b.type_pointer(None, private, types[2]);
        let variable = b.variable(pointer, None, private, None);
        let of = named(&mut b, value);
        let zero = b.constant_null(of);
        entry(&mut b, types, |b| b.store(variable, zero, None, []).unwrap());
        b
    };
    judged("valid", store("u32")).unwrap();
    refused(store("i32"), "OpStore: operand 1 has type");
    refused(store("f32"), "OpStore: operand 1 has type");
}

#[test]
fn ids_are_used_after_their_results() {
    let sum = |is_after: bool| {
        let (mut b, types) = module();
        let uint = types[2];
        let one = b.constant_bit32(uint, 1);
        entry(&mut b, types, |b| {
            let first = b.i_add(uint, None, one, one).unwrap();
            let _ = b.i_add(uint, None, first, one).unwrap();
        });
        if !is_after {
            b.module_mut().functions[0].blocks[0].instructions.swap(0, 1);
        }
        b
    };
    judged("valid", sum(true)).unwrap();
    refused(sum(false), "(operand 0) has no value there");
}

#[test]
fn a_result_of_one_branch_has_no_value_after_it() {
    let branch = |is_inside: bool| {
        let (mut b, types) = module();
        let (uint, bool) = (types[2], b.type_bool());
        let (one, yes) = (b.constant_bit32(uint, 1), b.constant_true(bool));
        entry(&mut b, types, |b| {
            let [then, after] = [b.id(), b.id()];
            b.selection_merge(after, rspirv::spirv::SelectionControl::NONE).unwrap();
            b.branch_conditional(yes, then, after, []).unwrap();
            b.begin_block(Some(then)).unwrap();
            let sum = b.i_add(uint, None, one, one).unwrap();
            if is_inside {
                let _ = b.i_add(uint, None, sum, one).unwrap();
            }
            b.branch(after).unwrap();
            b.begin_block(Some(after)).unwrap();
            if !is_inside {
                let _ = b.i_add(uint, None, sum, one).unwrap();
            }
        });
        b
    };
    judged("valid", branch(true)).unwrap();
    refused(branch(false), "(operand 0) has no value there");
}

#[test]
fn decorations_are_for_what_can_have_them() {
    let decorated = |decoration: Decoration, is_variable: bool, times: usize| {
        let (mut b, types) = module();
        let pointer = b.type_pointer(None, StorageClass::Private, types[2]);
        let variable = b.variable(pointer, None, StorageClass::Private, None);
        let four = b.constant_bit32(types[2], 4);
        let array = b.type_array(types[2], four);
        for _ in 0..times {
            let target = if is_variable { variable } else { array };
            b.decorate(target, decoration, [Operand::LiteralBit32(4)]);
        }
        entry(&mut b, types, |_| {});
        b
    };
    judged("valid", decorated(Decoration::Binding, true, 1)).unwrap();
    refused(decorated(Decoration::Binding, false, 1), "cannot have the decoration Binding");
    judged("valid", decorated(Decoration::ArrayStride, false, 1)).unwrap();
    refused(decorated(Decoration::ArrayStride, true, 1), "cannot have the decoration ArrayStride");
    refused(decorated(Decoration::ArrayStride, false, 2), "has the decoration ArrayStride twice");
}

#[test]
fn an_entry_point_lists_its_interface() {
    let listed = |is_listed: bool| {
        let (mut b, types) = module();
        let vector = b.type_vector(types[2], 3);
        let pointer = b.type_pointer(None, StorageClass::Input, vector);
        let input = b.variable(pointer, None, StorageClass::Input, None);
        let builtin = rspirv::spirv::BuiltIn::GlobalInvocationId;
        b.decorate(input, Decoration::BuiltIn, [Operand::BuiltIn(builtin)]);
        entry(&mut b, types, |b| drop(b.load(vector, None, input, None, [])));
        b.module_mut().entry_points[0].operands.truncate(3);
        if is_listed {
            b.module_mut().entry_points[0].operands.push(Operand::IdRef(input));
        }
        b
    };
    judged("valid", listed(true)).unwrap();
    refused(listed(false), "is used, and not listed");
}

#[test]
fn sections_are_in_their_order() {
    let (mut b, types) = module();
    entry(&mut b, types, |_| {});
    let words = b.module().assemble();
    let read = |verdict, words: &[u32]| {
        leave(verdict, words);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Shader::read(&bytes).map(drop)
    };
    assert!(read("valid", &words).is_ok());
    // The capability, of two words after the header, moves after the memory model, of three.
    let moved = [&words[..5], &words[7..10], &words[5..7], &words[10..]].concat();
    let error = read("invalid", &moved).unwrap_err().to_string();
    assert!(error.contains("OpCapability at word 8 is after a later section"), "{error}");
    let twice = [&words[..10], &words[7..10], &words[10..]].concat();
    let error = read("invalid", &twice).unwrap_err().to_string();
    assert!(error.contains("OpMemoryModel at word 10 is the second one"), "{error}");
}
