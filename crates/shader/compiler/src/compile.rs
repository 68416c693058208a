//! Compilation: a specialized shader as instructions of a platform.

use std::fmt;

use intel_eu::Platform;

use crate::interface::{Binding, Stage};
use crate::ir::walk::visit;
use crate::ir::{Node, Operation, Program, Surface};
use crate::machine::instr::Function;
use crate::machine::{emit, legalize, opt_copy_prop};
use crate::pass::{Moment, Pass};
use crate::passes::lower_inputs::FIRST_SIZE;
use crate::passes::{
    hoist_discard, lower_alu, lower_discard, lower_inputs, opt_algebraic, opt_dce, opt_forward_stores,
    structurize_exits,
};
use crate::select::select;
use crate::translate::translate;
use crate::{Error, Features, Shader};

/// Dwords of constants that a thread has.
const CONSTANTS: usize = 8;

/// Choices of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Early returns and discards are hoisted: moved before the first side effect, where that is allowed.
    pub hoist_discard: bool,
}

impl Default for Options {
    /// Returns the choices for the least accesses to memory.
    fn default() -> Self {
        Self { hoist_discard: true }
    }
}

/// How a shader uses a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceUse {
    /// The binding of the surface.
    pub binding: Binding,
    /// The shader has reads of it. Atomic operations are both.
    pub reads: bool,
    /// The shader has writes to it.
    pub writes: bool,
}

/// A compiled shader: the instructions of a platform, and what a dispatch has to give to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledShader {
    /// The platform.
    pub platform: Platform,
    /// The stage of the shader.
    pub stage: Stage,
    /// The instructions.
    pub code: Vec<u8>,
    /// The surfaces, in the order of the binding table.
    pub surfaces: Vec<SurfaceUse>,
    /// Lanes of a group, in three directions. A fragment shader has 1.
    pub group: [u32; 3],
    /// Number of early returns and discards that were hoisted.
    pub hoisted_discards: usize,
    /// The surfaces whose sizes are among the constants.
    sized_surfaces: Vec<Surface>,
}

impl Shader {
    /// Compiles the shader, which is specialized.
    ///
    /// # Errors
    /// [`Error::NotSpecialized`]; [`Error::Capability`] and [`Error::Extension`] for what the platform lacks; those of a part that is
    /// not supported, which name it: [`Error::Opcode`], [`Error::Type`], [`Error::Decoration`], [`Error::Registers`],
    /// [`Error::Encoding`]; [`Error::Malformed`].
    pub fn compile(&self, platform: Platform, options: &Options) -> Result<CompiledShader, Error> {
        self.compile_observed(platform, options, |_, _, _| {})
    }

    /// Compiles the shader, likewise, and calls `observe` before and after each pass with the program as it is then: one operation or
    /// instruction a line, if it is formatted. After [`Pass::Select`] it is a function of machine instructions.
    ///
    /// # Errors
    /// Those of [`Self::compile`]. `observe` is not called after the pass that fails.
    pub fn compile_observed(
        &self,
        platform: Platform,
        options: &Options,
        observe: impl FnMut(Pass, Moment, &dyn fmt::Display),
    ) -> Result<CompiledShader, Error> {
        let mut passes = Passes { observe };
        let chosen = self.chosen.as_ref().ok_or(Error::NotSpecialized)?;
        let stage = chosen.entry.stage.ok_or(Error::NotSpecialized)?;
        // The shader may have been specialized for another device.
        self.check_features(&Features::of(platform))?;
        let (mut program, bindings) = translate(&self.module, chosen)?;
        let group = program.group;
        passes.optimize(&mut program);
        let hoisted_discards = if options.hoist_discard {
            passes.run(Pass::HoistDiscard, &mut program, hoist_discard)
        } else {
            0
        };
        passes.run(Pass::LowerInputs, &mut program, |program| lower_inputs(program, stage));
        let (count, most) = (program.sizes.len(), CONSTANTS - usize::from(FIRST_SIZE));
        if count > most {
            return Err(Error::Type { name: format!("lengths of {count} buffers ({most} are the most)") });
        }
        passes.try_run(Pass::LowerDiscard, &mut program, lower_discard)?;
        passes.try_run(Pass::StructurizeExits, &mut program, structurize_exits)?;
        passes.optimize(&mut program);
        let surfaces = surface_uses(&program, &bindings);
        passes.try_run(Pass::LowerAlu, &mut program, |program| lower_alu(program, platform))?;
        let mut function = passes.select(&program)?;
        passes.try_run(Pass::Legalize, &mut function, |function| legalize(platform, function))?;
        passes.run(Pass::OptCopyProp, &mut function, |function| opt_copy_prop(platform, function));
        let code = emit(&function, platform)?;
        Ok(CompiledShader {
            platform,
            stage,
            code,
            surfaces,
            group,
            hoisted_discards,
            sized_surfaces: program.sizes,
        })
    }
}

/// The passes of a compilation, and the function that observes them.
struct Passes<F> {
    observe: F,
}

impl<F: FnMut(Pass, Moment, &dyn fmt::Display)> Passes<F> {
    /// Runs a pass that may fail.
    fn try_run<I: fmt::Display>(
        &mut self,
        pass: Pass,
        ir: &mut I,
        run: impl FnOnce(&mut I) -> Result<(), Error>,
    ) -> Result<(), Error> {
        (self.observe)(pass, Moment::Before, ir);
        run(ir)?;
        (self.observe)(pass, Moment::After, ir);
        Ok(())
    }

    /// Runs a pass.
    fn run<I: fmt::Display, T>(&mut self, pass: Pass, ir: &mut I, run: impl FnOnce(&mut I) -> T) -> T {
        (self.observe)(pass, Moment::Before, ir);
        let result = run(ir);
        (self.observe)(pass, Moment::After, ir);
        result
    }

    /// Selects instructions.
    fn select(&mut self, program: &Program) -> Result<Function, Error> {
        (self.observe)(Pass::Select, Moment::Before, program);
        let function = select(program)?;
        (self.observe)(Pass::Select, Moment::After, &function);
        Ok(function)
    }

    /// Runs the passes that only make a program shorter.
    fn optimize(&mut self, program: &mut Program) {
        self.run(Pass::OptForwardStores, program, opt_forward_stores);
        self.run(Pass::OptAlgebraic, program, opt_algebraic);
        self.run(Pass::OptDce, program, opt_dce);
    }
}

/// Returns the uses of a program's surfaces.
fn surface_uses(program: &Program, bindings: &[Binding]) -> Vec<SurfaceUse> {
    let mut surfaces: Vec<_> =
        bindings.iter().map(|&binding| SurfaceUse { binding, reads: false, writes: false }).collect();
    let mut note = |surface: Surface, reads, writes| {
        if let Some(used) = surfaces.get_mut(usize::from(surface.0)) {
            used.reads |= reads;
            used.writes |= writes;
        }
    };
    visit(&program.body, &mut |node| match node {
        Node::Def(_, Operation::Load(surface, _)) => note(*surface, true, false),
        Node::Def(_, Operation::Atomic(_, surface, ..)) => note(*surface, true, true),
        Node::Store(surface, ..) => note(*surface, false, true),
        Node::Def(..)
        | Node::StoreVar(..)
        | Node::If(..)
        | Node::Loop(..)
        | Node::Block(..)
        | Node::End(..)
        | Node::Break(_)
        | Node::Continue(_) => {}
    });
    surfaces
}

impl CompiledShader {
    /// Returns the number of threads of a dispatch, which are the groups of its walker, a thread each. `extent` are the groups of a compute
    /// shader in three directions; of a fragment shader, the width and the height of the rectangle, in pixels.
    ///
    /// # Errors
    /// [`Error::Extent`] if there is none, or if there are 2^32 or more.
    pub fn threads(&self, extent: [u32; 3]) -> Result<u32, Error> {
        let count = match self.stage {
            Stage::Compute => {
                extent.into_iter().try_fold(lower_inputs::threads(self.group), u32::checked_mul)
            }
            Stage::Fragment => {
                let [width, height, _] = extent;
                lower_inputs::threads_across(width).checked_mul(lower_inputs::threads_down(height))
            }
        };
        count.filter(|count| *count > 0).ok_or(Error::Extent { extent })
    }

    /// Returns the dwords that each thread of a dispatch finds in r1. `sizes` are the bytes of the surfaces, in the order of
    /// [`Self::surfaces`]; one that is left out is empty.
    #[must_use]
    pub fn constants(&self, extent: [u32; 3], sizes: &[u32]) -> Vec<u32> {
        let mut words = match self.stage {
            Stage::Compute => extent.to_vec(),
            Stage::Fragment => vec![extent[0], extent[1], lower_inputs::threads_across(extent[0])],
        };
        words.extend(
            self.sized_surfaces.iter().map(|one| sizes.get(usize::from(one.0)).copied().unwrap_or(0)),
        );
        words
    }
}
