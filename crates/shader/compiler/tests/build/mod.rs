//! Modules that are built instruction by instruction.

use gem_shader_compiler::{CompiledShader, Error, Features, Options, Shader, Stage};
use intel_eu::Platform;
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel, Op,
    StorageClass, Word,
};

/// Returns a module with the types that all need: void, a function without parameters, an unsigned integer.
pub fn module() -> (Builder, [Word; 3]) {
    let mut b = Builder::new();
    b.set_version(1, 0);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let function = b.type_function(void, []);
    let uint = b.type_int(32, 0);
    (b, [void, function, uint])
}

/// Adds the entry point, whose blocks `body` makes.
pub fn entry(b: &mut Builder, types: [Word; 3], body: impl FnOnce(&mut Builder)) {
    let [void, function, _] = types;
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    body(b);
    b.ret().unwrap();
    b.end_function().unwrap();
    let globals = &b.module_ref().types_global_values;
    let is_interface = |one: &&rspirv::dr::Instruction| {
        let class = one.operands.first();
        let classes = [StorageClass::Input, StorageClass::Output].map(Operand::StorageClass);
        one.class.opcode == Op::Variable && class.is_some_and(|class| classes.contains(class))
    };
    let interface: Vec<Word> = globals.iter().filter(is_interface).filter_map(|one| one.result_id).collect();
    b.entry_point(ExecutionModel::GLCompute, main, "main", interface);
    b.execution_mode(main, ExecutionMode::LocalSize, [16, 1, 1]);
}

/// Compiles a module.
pub fn compile(b: Builder) -> Result<CompiledShader, Error> {
    let bytes: Vec<u8> = b.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut shader = Shader::read(&bytes)?;
    shader.specialize("main", Stage::Compute, &[], &Features::of(Platform::Skl))?;
    shader.compile(Platform::Skl, &Options::default())
}

/// Checks that a module is refused with a text.
#[track_caller]
pub fn refused(b: Builder, text: &str) {
    let error = compile(b).expect_err(text).to_string();
    assert!(error.contains(text), "{error}");
}
