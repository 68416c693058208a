//! Unsupported parts of modules are refused by name; without them the module compiles.

mod build;

use build::{compile, entry, module, refused};
use gem_shader_compiler::{Features, Options, Shader, Stage};
use intel_eu::Platform;
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    BuiltIn, Decoration, ExecutionMode, ExecutionModel, GlslStd450Op, MemoryAccess, StorageClass, Word,
};

/// Returns a module whose entry point's block `body` makes, after `declare` has made types, constants and variables.
fn with<T>(
    declare: impl FnOnce(&mut Builder, Word) -> T,
    body: impl FnOnce(&mut Builder, Word, T),
) -> Builder {
    let (mut b, types) = module();
    let declared = declare(&mut b, types[2]);
    entry(&mut b, types, |b| body(b, types[2], declared));
    b
}

/// Declares a variable of a type in a storage class.
fn variable(b: &mut Builder, of: Word, class: StorageClass) -> Word {
    let pointer = b.type_pointer(None, class, of);
    b.variable(pointer, None, class, None)
}

/// Declares a buffer of one number, and returns a pointer type to it, its variable, and the index of the number.
fn buffer(b: &mut Builder, number: Word, uint: Word) -> [Word; 3] {
    b.extension("SPV_KHR_storage_buffer_storage_class");
    let block = b.type_struct([number]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let pointer = b.type_pointer(None, StorageClass::StorageBuffer, number);
    [pointer, variable(b, block, StorageClass::StorageBuffer), b.constant_bit32(uint, 0)]
}

#[test]
fn storage_of_a_group_and_barriers_are_refused() {
    let load = |class: StorageClass| {
        with(
            |b, uint| variable(b, uint, class),
            |b, uint, variable| {
                let _ = b.load(uint, None, variable, None, []).unwrap();
            },
        )
    };
    refused(load(StorageClass::Workgroup), "storage class Workgroup");
    refused(load(StorageClass::Image), "storage class Image");
    compile(load(StorageClass::Private)).unwrap();
    let barrier = |is_memory: bool| {
        with(
            |b, uint| [b.constant_bit32(uint, 1), b.constant_bit32(uint, 72)],
            |b, _, [scope, semantics]| {
                if is_memory {
                    b.memory_barrier(scope, semantics)
                } else {
                    b.control_barrier(scope, scope, semantics)
                }
                .unwrap();
            },
        )
    };
    refused(
        barrier(false),
        "OpControlBarrier, for which the threads of a group have to run at once, is not supported",
    );
    compile(barrier(true)).unwrap();
}

#[test]
fn built_in_inputs_are_refused_by_name() {
    let input = |builtin: BuiltIn, count: u32| {
        with(
            |b, uint| {
                let of = if count == 1 { uint } else { b.type_vector(uint, count) };
                let input = variable(b, of, StorageClass::Input);
                b.decorate(input, Decoration::BuiltIn, [Operand::BuiltIn(builtin)]);
                (of, input)
            },
            |b, _, (of, input)| {
                let _ = b.load(of, None, input, None, []).unwrap();
            },
        )
    };
    refused(
        input(BuiltIn::SubgroupSize, 1),
        "decoration BuiltIn SubgroupSize of an input of a compute shader",
    );
    refused(input(BuiltIn::FragCoord, 4), "decoration BuiltIn FragCoord of an input of a compute shader");
    refused(input(BuiltIn::GlobalInvocationId, 2), "a built-in input has another type");
    compile(input(BuiltIn::GlobalInvocationId, 3)).unwrap();
    compile(input(BuiltIn::LocalInvocationIndex, 1)).unwrap();
}

#[test]
fn decorations_that_change_the_meaning_are_refused() {
    let decorated = |decoration: Decoration, operands: &[u32]| {
        let operands: Vec<_> = operands.iter().map(|number| Operand::LiteralBit32(*number)).collect();
        with(
            |b, uint| {
                let variable = variable(b, uint, StorageClass::Private);
                b.decorate(variable, decoration, operands);
            },
            |_, _, ()| {},
        )
    };
    refused(decorated(Decoration::Component, &[1]), "decoration Component is not supported");
    refused(decorated(Decoration::Index, &[1]), "decoration Index is not supported");
    refused(decorated(Decoration::Volatile, &[]), "decoration Volatile is not supported");
    for harmless in
        [Decoration::RelaxedPrecision, Decoration::NoContraction, Decoration::Restrict, Decoration::Aliased]
    {
        compile(decorated(harmless, &[])).unwrap();
    }
    let group = with(|b, _| b.decoration_group(), |_, _, _| {});
    refused(group, "OpDecorationGroup is not supported");
}

#[test]
fn functions_of_floats_are_refused_by_name() {
    let call = |set: &str, function: GlslStd450Op, arguments: usize, bits: u32| {
        with(
            |b, _| {
                if bits == 64 {
                    b.capability(rspirv::spirv::Capability::Float64);
                }
                let set = b.ext_inst_import(set);
                let float = b.type_float(bits, None);
                (set, float, b.constant_null(float))
            },
            |b, _, (set, of, zero)| {
                let arguments = (0..arguments).map(|_| Operand::IdRef(zero));
                {
                    let _ = b.ext_inst(of, None, set, function as u32, arguments).unwrap();
                };
            },
        )
    };
    let set = "GLSL.std.450";
    for (function, arguments) in [(GlslStd450Op::Atan2, 2), (GlslStd450Op::Tanh, 1), (GlslStd450Op::Sin, 1)] {
        refused(call(set, function, arguments, 64), "has no floats of 16 or 32 bits");
        compile(call(set, function, arguments, 32)).unwrap();
    }
    refused(call(set, GlslStd450Op::Atan, 2, 32), "Atan has 2 operands instead of 1");
    refused(call(set, GlslStd450Op::Sqrt, 2, 32), "Sqrt has 2 operands instead of 1");
    refused(
        call("OpenCL.std", GlslStd450Op::Sqrt, 1, 32),
        "OpExtInst of the set OpenCL.std is not supported",
    );
    compile(call(set, GlslStd450Op::Sqrt, 1, 32)).unwrap();
}

#[test]
fn determinants_are_of_square_matrices_and_parts_of_floats_have_their_types() {
    let inverse = |function: GlslStd450Op, columns: u32, rows: u32| {
        with(
            |b, _| {
                let set = b.ext_inst_import("GLSL.std.450");
                let float = b.type_float(32, None);
                let column = b.type_vector(float, rows);
                let matrix = b.type_matrix(column, columns);
                (
                    set,
                    if function == GlslStd450Op::Determinant { float } else { matrix },
                    b.constant_null(matrix),
                )
            },
            |b, _, (set, of, zero)| {
                let _ = b.ext_inst(of, None, set, function as u32, [Operand::IdRef(zero)]).unwrap();
            },
        )
    };
    for function in [GlslStd450Op::Determinant, GlslStd450Op::MatrixInverse] {
        refused(inverse(function, 2, 3), "its operand is no square matrix");
        compile(inverse(function, 3, 3)).unwrap();
    }
    let parts = |function: GlslStd450Op, is_other: bool, bits: u32| {
        with(
            |b, uint| {
                if bits == 64 {
                    b.capability(rspirv::spirv::Capability::Float64);
                }
                let set = b.ext_inst_import("GLSL.std.450");
                let float = b.type_float(bits, None);
                // The whole number is a float, and the exponent an integer.
                let is_float = (function == GlslStd450Op::Modf) != is_other;
                (
                    set,
                    float,
                    b.constant_null(float),
                    variable(b, if is_float { float } else { uint }, StorageClass::Private),
                )
            },
            |b, _, (set, float, zero, variable)| {
                let operands = [zero, variable].map(Operand::IdRef);
                let _ = b.ext_inst(float, None, set, function as u32, operands).unwrap();
            },
        )
    };
    for function in [GlslStd450Op::Modf, GlslStd450Op::Frexp] {
        refused(parts(function, true, 32), "the pointer is to another type");
        refused(parts(function, false, 64), &format!("GLSL.std.450 {function:?} is not supported"));
        compile(parts(function, false, 32)).unwrap();
    }
}

#[test]
fn instructions_are_refused_by_name() {
    let difference = |b: &mut Builder, float: Word, zero: Word, is_fine: bool| {
        if is_fine { b.d_pdx_fine(float, None, zero) } else { b.d_pdx(float, None, zero) }.unwrap();
    };
    for (is_fine, text) in
        [(true, "OpDPdxFine is not supported"), (false, "OpDPdx in a compute shader is not supported")]
    {
        let b = with(
            |b, _| {
                let float = b.type_float(32, None);
                (float, b.constant_null(float))
            },
            |b, _, (float, zero)| difference(b, float, zero, is_fine),
        );
        refused(b, text);
    }
    let image = with(
        |b, _| {
            let float = b.type_float(32, None);
            let (dim, format) = (rspirv::spirv::Dim::Dim2D, rspirv::spirv::ImageFormat::Unknown);
            b.type_image(float, dim, 0, 0, 0, 1, format, None);
        },
        |_, _, ()| {},
    );
    refused(image, "OpTypeImage is not supported");
    let access = |access: Option<MemoryAccess>| {
        with(
            |b, uint| variable(b, uint, StorageClass::Private),
            |b, uint, variable| {
                let _ = b.load(uint, None, variable, access, []).unwrap();
            },
        )
    };
    refused(access(Some(MemoryAccess::VOLATILE)), "OpLoad with MemoryAccess(VOLATILE) is not supported");
    compile(access(Some(MemoryAccess::NONTEMPORAL))).unwrap();
    compile(access(None)).unwrap();
}

#[test]
fn atomic_operations_are_on_dwords_of_buffers() {
    let in_variable = with(
        |b, uint| (variable(b, uint, StorageClass::Private), b.constant_bit32(uint, 1)),
        |b, uint, (variable, one)| {
            let _ = b.atomic_i_add(uint, None, variable, one, one, one).unwrap();
        },
    );
    refused(in_variable, "OpAtomicIAdd on other than integers of 32 bits in buffers");
    let in_buffer = |bits: u32| {
        with(
            |b, uint| {
                if bits == 64 {
                    b.capability(rspirv::spirv::Capability::Int64);
                }
                let number = b.type_int(bits, 0);
                let one = if bits == 64 { b.constant_bit64(number, 1) } else { b.constant_bit32(number, 1) };
                (number, one, b.constant_bit32(uint, 1), buffer(b, number, uint))
            },
            |b, _, (number, one, scope, [pointer, variable, zero])| {
                let at = b.access_chain(pointer, None, variable, [zero]).unwrap();
                b.atomic_i_add(number, None, at, scope, scope, one).unwrap();
            },
        )
    };
    refused(in_buffer(64), "OpAtomicIAdd on other than integers of 32 bits in buffers");
    compile(in_buffer(32)).unwrap();
}

#[test]
fn buffers_are_structs_of_numbers() {
    let of = |is_bool: bool, is_array: bool, offset: u32| {
        with(
            |b, uint| {
                b.extension("SPV_KHR_storage_buffer_storage_class");
                let number = if is_bool { b.type_bool() } else { uint };
                let block = b.type_struct([number]);
                b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(offset)]);
                let two = b.constant_bit32(uint, 2);
                let whole = if is_array { b.type_array(block, two) } else { block };
                let pointer = b.type_pointer(None, StorageClass::StorageBuffer, number);
                (number, pointer, variable(b, whole, StorageClass::StorageBuffer), b.constant_bit32(uint, 0))
            },
            |b, _, (number, pointer, variable, zero)| {
                let indices = std::iter::repeat_n(zero, if is_array { 2 } else { 1 });
                let at = b.access_chain(pointer, None, variable, indices).unwrap();
                b.load(number, None, at, None, []).unwrap();
            },
        )
    };
    refused(of(true, false, 0), "booleans in buffers are not supported");
    refused(of(false, true, 0), "arrays of buffers are not supported");
    refused(
        of(false, false, 6),
        "offsets and strides that are no multiples of their numbers' sizes are not supported",
    );
    compile(of(false, false, 4)).unwrap();
}

/// Makes a fragment shader of a module, with an execution mode; compiles it, and returns its group or the error's text.
fn pixels(mut b: Builder, mode: ExecutionMode) -> Result<[u32; 3], String> {
    let main = b.module_ref().entry_points[0].operands[1].unwrap_id_ref();
    b.module_mut().entry_points[0].operands[0] = Operand::ExecutionModel(ExecutionModel::Fragment);
    b.module_mut().execution_modes.clear();
    b.execution_mode(main, mode, []);
    if !matches!(mode, ExecutionMode::OriginUpperLeft | ExecutionMode::OriginLowerLeft) {
        b.execution_mode(main, ExecutionMode::OriginUpperLeft, []);
    }
    let bytes: Vec<u8> = b.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut shader = Shader::read(&bytes).unwrap();
    shader.specialize("main", Stage::Fragment, &[], &Features::of(Platform::Skl)).unwrap();
    shader
        .compile(Platform::Skl, &Options::default())
        .map(|shader| shader.group)
        .map_err(|error| error.to_string())
}

#[test]
fn execution_modes_are_refused_by_name() {
    let empty = || with(|_, _| {}, |_, _, ()| {});
    for mode in [ExecutionMode::DepthReplacing, ExecutionMode::PixelCenterInteger] {
        assert_eq!(pixels(empty(), mode), Err(format!("execution mode {mode:?} is not supported")));
    }
    for mode in [ExecutionMode::OriginUpperLeft, ExecutionMode::OriginLowerLeft] {
        assert_eq!(pixels(empty(), mode), Ok([1, 1, 1]));
    }
}

#[test]
fn outputs_are_vectors_with_locations_of_their_own() {
    let outputs = |locations: [u32; 2], count: Option<u32>| {
        let b = with(
            |b, uint| {
                let of = match count {
                    None => uint,
                    Some(count) => {
                        let count = b.constant_bit32(uint, count);
                        b.type_array(uint, count)
                    }
                };
                let zero = b.constant_null(of);
                (
                    zero,
                    locations.map(|location| {
                        let output = variable(b, of, StorageClass::Output);
                        b.decorate(output, Decoration::Location, [Operand::LiteralBit32(location)]);
                        output
                    }),
                )
            },
            |b, _, (zero, outputs)| {
                for output in outputs {
                    b.store(output, zero, None, []).unwrap();
                }
            },
        );
        pixels(b, ExecutionMode::OriginUpperLeft)
    };
    assert_eq!(outputs([0, 1], None), Ok([1, 1, 1]));
    assert!(outputs([1, 1], None).unwrap_err().contains("another output has the same location"));
    assert!(
        outputs([0, 1], Some(2))
            .unwrap_err()
            .contains("other than vectors of 32-bit numbers are not supported")
    );
}
