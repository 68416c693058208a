//! Modules that would take all memory, time or stack are refused by a limit.

mod build;

use build::{compile, entry, module, refused};
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, FunctionControl, LoopControl, SelectionControl, StorageClass};

#[test]
fn a_small_module_compiles() {
    let (mut b, types) = module();
    entry(&mut b, types, |_| {});
    compile(b).unwrap();
}

#[test]
fn types_are_nested_to_a_limit() {
    let nested = |depth: usize| {
        let (mut b, types) = module();
        let one = b.constant_bit32(types[2], 1);
        let mut of = types[2];
        for _ in 0..depth {
            of = b.type_array(of, one);
        }
        let pointer = b.type_pointer(None, StorageClass::Private, of);
        let variable = b.variable(pointer, None, StorageClass::Private, None);
        entry(&mut b, types, |b| {
            let value = b.load(of, None, variable, None, []).unwrap();
            b.store(variable, value, None, []).unwrap();
        });
        b
    };
    compile(nested(20)).unwrap();
    refused(nested(40), "types nested more than 32 deep");
    refused(nested(20_000), "types nested more than 32 deep");
}

#[test]
fn variables_and_constants_have_a_limit_of_numbers() {
    // Structs of two of the one before: 2^levels numbers.
    let doubled = |levels: usize| {
        let (mut b, types) = module();
        let mut of = types[2];
        for _ in 0..levels {
            of = b.type_struct([of, of]);
        }
        (b, types, of)
    };
    let with_variable = |levels: usize| {
        let (mut b, types, of) = doubled(levels);
        let pointer = b.type_pointer(None, StorageClass::Private, of);
        let variable = b.variable(pointer, None, StorageClass::Private, None);
        entry(&mut b, types, |b| {
            let _ = b.load(of, None, variable, None, []).unwrap();
        });
        b
    };
    compile(with_variable(8)).unwrap();
    for levels in [9, 30] {
        refused(with_variable(levels), "values of more than 256 numbers");
    }
    let (mut b, types, of) = doubled(30);
    b.constant_null(of);
    entry(&mut b, types, |_| {});
    refused(b, "constants of more than 256 numbers");
    // Constants that have the one before twice.
    let (mut b, types) = module();
    let (mut of, mut constant) = (types[2], b.constant_bit32(types[2], 7));
    for _ in 0..30 {
        of = b.type_struct([of, of]);
        constant = b.constant_composite(of, [constant, constant]);
    }
    entry(&mut b, types, |_| {});
    refused(b, "constants of more than 256 numbers");
    // An array of the largest length, and one beyond it.
    for (length, text) in
        [(1 << 24, "values of more than 256 numbers"), (u32::MAX, "too large"), (0, "is no constant, 0")]
    {
        let (mut b, types) = module();
        let length = b.constant_bit32(types[2], length);
        let array = b.type_array(types[2], length);
        let array = b.type_array(array, length);
        let pointer = b.type_pointer(None, StorageClass::Private, array);
        let variable = b.variable(pointer, None, StorageClass::Private, None);
        entry(&mut b, types, |b| {
            let _ = b.load(array, None, variable, None, []).unwrap();
        });
        refused(b, text);
    }
}

#[test]
fn functions_are_inlined_to_a_limit() {
    // Each function calls the one before twice, and the first one does nothing: 2^depth calls.
    let doubled = |depth: usize| {
        let (mut b, types) = module();
        let [void, function, _] = types;
        let mut last = None;
        for _ in 0..depth {
            let next = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
            b.begin_block(None).unwrap();
            for callee in last.into_iter().chain(last) {
                b.function_call(void, None, callee, []).unwrap();
            }
            b.ret().unwrap();
            b.end_function().unwrap();
            last = Some(next);
        }
        entry(&mut b, types, |b| {
            b.function_call(void, None, last.unwrap(), []).unwrap();
        });
        b
    };
    compile(doubled(5)).unwrap();
    refused(doubled(30), "programs of more than 65536 operations");
    refused(doubled(200), "functions call each other, or more than 32 deep");
    // One that calls itself.
    let (mut b, types) = module();
    let [void, function, _] = types;
    let id = b.id();
    b.begin_function(void, Some(id), FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    b.function_call(void, None, id, []).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    entry(&mut b, types, |b| {
        b.function_call(void, None, id, []).unwrap();
    });
    refused(b, "functions call each other");
}

#[test]
fn control_flow_is_nested_to_a_limit() {
    let nested = |depth: usize| {
        let (mut b, types) = module();
        let bool = b.type_bool();
        let boolean = b.constant_true(bool);
        entry(&mut b, types, |b| {
            let mut merges = Vec::new();
            for _ in 0..depth {
                let (inside, merge) = (b.id(), b.id());
                b.selection_merge(merge, SelectionControl::NONE).unwrap();
                b.branch_conditional(boolean, inside, merge, []).unwrap();
                b.begin_block(Some(inside)).unwrap();
                merges.push(merge);
            }
            for merge in merges.into_iter().rev() {
                b.branch(merge).unwrap();
                b.begin_block(Some(merge)).unwrap();
            }
        });
        b
    };
    compile(nested(60)).unwrap();
    refused(nested(5_000), "control flow and calls nested more than 64 deep");
}

#[test]
fn a_loop_without_an_end_compiles() {
    let (mut b, types) = module();
    entry(&mut b, types, |b| {
        let (header, body, after, behind) = (b.id(), b.id(), b.id(), b.id());
        b.branch(header).unwrap();
        b.begin_block(Some(header)).unwrap();
        b.loop_merge(behind, after, LoopControl::NONE, []).unwrap();
        b.branch(body).unwrap();
        b.begin_block(Some(body)).unwrap();
        b.branch(after).unwrap();
        b.begin_block(Some(after)).unwrap();
        b.branch(header).unwrap();
        b.begin_block(Some(behind)).unwrap();
    });
    compile(b).unwrap();
}

#[test]
fn a_branch_back_without_a_loop_is_refused() {
    let (mut b, types) = module();
    entry(&mut b, types, |b| {
        let (first, second) = (b.id(), b.id());
        b.branch(first).unwrap();
        b.begin_block(Some(first)).unwrap();
        b.branch(first).unwrap();
        b.begin_block(Some(second)).unwrap();
    });
    refused(b, "reached twice");
}

#[test]
fn switches_and_surfaces_are_limited() {
    let (mut b, types) = module();
    let uint = types[2];
    let zero = b.constant_bit32(uint, 0);
    entry(&mut b, types, |b| {
        let (case, behind) = (b.id(), b.id());
        b.selection_merge(behind, SelectionControl::NONE).unwrap();
        b.switch(zero, behind, (0..30_000).map(|at| (Operand::LiteralBit32(at), case))).unwrap();
        b.begin_block(Some(case)).unwrap();
        b.branch(behind).unwrap();
        b.begin_block(Some(behind)).unwrap();
    });
    refused(b, "programs of more than 65536 operations");
    let buffers = |count: u32| {
        let (mut b, types) = module();
        b.extension("SPV_KHR_storage_buffer_storage_class");
        let uint = types[2];
        let zero = b.constant_bit32(uint, 0);
        let block = b.type_struct([uint]);
        b.decorate(block, Decoration::Block, []);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        let (pointer, number) = (
            b.type_pointer(None, StorageClass::StorageBuffer, block),
            b.type_pointer(None, StorageClass::StorageBuffer, uint),
        );
        let variables: Vec<_> = (0..count)
            .map(|at| {
                let variable = b.variable(pointer, None, StorageClass::StorageBuffer, None);
                b.decorate(variable, Decoration::Binding, [Operand::LiteralBit32(at)]);
                variable
            })
            .collect();
        entry(&mut b, types, |b| {
            for variable in variables {
                let at = b.access_chain(number, None, variable, [zero]).unwrap();
                b.store(at, zero, None, []).unwrap();
            }
        });
        b
    };
    assert_eq!(compile(buffers(240)).unwrap().surfaces.len(), 240);
    refused(buffers(241), "more than 240 surfaces");
}

#[test]
fn lengths_of_buffers_are_limited() {
    let lengths = |count: u32| {
        let (mut b, types) = module();
        b.extension("SPV_KHR_storage_buffer_storage_class");
        let uint = types[2];
        let zero = b.constant_bit32(uint, 0);
        let numbers = b.type_runtime_array(uint);
        b.decorate(numbers, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        let block = b.type_struct([numbers]);
        b.decorate(block, Decoration::Block, []);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        let pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
        let number = b.type_pointer(None, StorageClass::StorageBuffer, uint);
        let variables: Vec<_> = (0..count)
            .map(|at| {
                let variable = b.variable(pointer, None, StorageClass::StorageBuffer, None);
                b.decorate(variable, Decoration::Binding, [Operand::LiteralBit32(at)]);
                variable
            })
            .collect();
        entry(&mut b, types, |b| {
            for variable in variables {
                let length = b.array_length(uint, None, variable, 0).unwrap();
                let at = b.access_chain(number, None, variable, [zero, zero]).unwrap();
                b.store(at, length, None, []).unwrap();
            }
        });
        b
    };
    assert_eq!(compile(lengths(5)).unwrap().surfaces.len(), 5);
    refused(lengths(6), "lengths of 6 buffers (5 are the most)");
    // So many that their places among the constants have no number.
    refused(lengths(240), "lengths of 240 buffers (5 are the most)");
}

#[test]
fn parts_of_structs_are_checked_once_for_each_type() {
    // Structs of two structs each: 2^30 parts.
    let block = |has_offsets: bool| {
        let (mut b, types) = module();
        let mut of = types[2];
        for level in 0..30 {
            of = b.type_struct([of, of]);
            for member in (0..2).filter(|_| has_offsets || level > 0) {
                b.member_decorate(of, member, Decoration::Offset, [Operand::LiteralBit32(4 * member)]);
            }
        }
        b.decorate(of, Decoration::BufferBlock, []);
        let pointer = b.type_pointer(None, StorageClass::Uniform, of);
        b.variable(pointer, None, StorageClass::Uniform, None);
        entry(&mut b, types, |_| {});
        b
    };
    assert!(compile(block(true)).is_ok());
    refused(block(false), "has no Offset of member 0");
}
