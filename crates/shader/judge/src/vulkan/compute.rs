//! Dispatches of compute shaders.
//!
//! # Safety
//!
//! As in `device.rs`.

use std::time::Instant;

use ash::vk;

use super::Judged;
use super::device::{Object, failed};
use super::resources::Resources;

/// Returns the pipeline of a compute shader.
///
/// # Errors
/// The call that failed.
pub fn pipeline(resources: &Resources<'_>, module: &[u8]) -> Result<vk::Pipeline, String> {
    let objects = &resources.objects;
    let device = &objects.vulkan.device;
    let (entries, data) = resources.values();
    let values = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
    let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
    let stage = stage.module(objects.module(module)?).name(c"main").specialization_info(&values);
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(resources.layout);
    // SAFETY: see the module.
    let pipelines = unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
    let pipelines = pipelines.map_err(|(_, error)| failed("vkCreateComputePipelines")(error))?;
    Ok(objects.add(pipelines[0], Object::Pipeline))
}

/// Runs a compute shader.
///
/// # Errors
/// The call that failed.
pub fn run(resources: &Resources<'_>, module: &[u8]) -> Result<Judged, String> {
    let objects = &resources.objects;
    let device = &objects.vulkan.device;
    let start = Instant::now();
    let pipeline = pipeline(resources, module)?;
    let [x, y, z] = resources.case.extent;
    objects.vulkan.submit(|commands| {
        resources.bind(commands, vk::PipelineBindPoint::COMPUTE);
        // SAFETY: see the module; `commands` are being recorded.
        unsafe {
            device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
            device.cmd_dispatch(commands, x, y, z);
            let barrier = vk::MemoryBarrier::default()
                .src_access_mask(vk::AccessFlags::SHADER_WRITE)
                .dst_access_mask(vk::AccessFlags::HOST_READ);
            let (from, to) = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::PipelineStageFlags::HOST);
            device.cmd_pipeline_barrier(
                commands,
                from,
                to,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
        }
    })?;
    let compilation = start.elapsed();
    Ok(Judged { memory: resources.surfaces()?, compilation })
}
