//! The buffers and descriptors of a case.
//!
//! # Safety
//!
//! As in `device.rs`. Memory is mapped only within a function, which keeps to the size of the buffer.

use ash::vk;
use gem_shader_compiler::Binding;

use super::device::{Object, Objects, Vulkan, failed};
use crate::directives::{Case, Memory};

/// A buffer with memory that the host can access.
#[derive(Clone, Copy, Debug)]
pub struct Mapped {
    /// The buffer.
    pub buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    bytes: usize,
}

/// Objects that a case needs beside the pipeline.
pub struct Resources<'a> {
    /// The case.
    pub case: &'a Case,
    /// The objects, and the device.
    pub objects: Objects<'a>,
    /// The layout of the pipeline.
    pub layout: vk::PipelineLayout,
    /// The first content of the surfaces.
    pub memory: Memory,
    sets: Vec<vk::DescriptorSet>,
    buffers: Vec<(Binding, Mapped)>,
}

/// The stages that resources are for.
const STAGES: vk::ShaderStageFlags = vk::ShaderStageFlags::from_raw(
    vk::ShaderStageFlags::COMPUTE.as_raw() | vk::ShaderStageFlags::FRAGMENT.as_raw(),
);

/// Makes a buffer that has these bytes.
pub fn buffer(objects: &Objects<'_>, content: &[u8], usage: vk::BufferUsageFlags) -> Result<Mapped, String> {
    let device = &objects.vulkan.device;
    let info = vk::BufferCreateInfo::default().size(content.len() as u64).usage(usage);
    // SAFETY: see the module.
    unsafe {
        let buffer = device.create_buffer(&info, None).map_err(failed("vkCreateBuffer"))?;
        objects.add(buffer, Object::Buffer);
        let memory = objects.memory(device.get_buffer_memory_requirements(buffer))?;
        device.bind_buffer_memory(buffer, memory, 0).map_err(failed("vkBindBufferMemory"))?;
        let to = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
        let to = to.map_err(failed("vkMapMemory"))?;
        std::ptr::copy_nonoverlapping(content.as_ptr(), to.cast(), content.len());
        device.unmap_memory(memory);
        Ok(Mapped { buffer, memory, bytes: content.len() })
    }
}

/// Returns the bytes of a buffer.
pub fn content(objects: &Objects<'_>, mapped: &Mapped) -> Result<Vec<u8>, String> {
    let device = &objects.vulkan.device;
    let mut bytes = vec![0; mapped.bytes];
    // SAFETY: see the module.
    unsafe {
        let from = device.map_memory(mapped.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
        let from = from.map_err(failed("vkMapMemory"))?;
        std::ptr::copy_nonoverlapping(from.cast(), bytes.as_mut_ptr(), bytes.len());
        device.unmap_memory(mapped.memory);
    }
    Ok(bytes)
}

impl<'a> Resources<'a> {
    /// Makes the buffers with their first content, and what refers to them.
    pub fn new(vulkan: &'a Vulkan, case: &'a Case) -> Result<Self, String> {
        let (objects, memory) = (Objects::new(vulkan), case.memory());
        let mut buffers = Vec::new();
        for one in &case.buffers {
            let binding = Binding::Buffer { set: one.set, binding: one.binding };
            let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::UNIFORM_BUFFER;
            buffers.push((binding, buffer(&objects, &memory[&binding], usage)?));
        }
        let layouts = set_layouts(&objects, case)?;
        let push = vk::PushConstantRange::default().stage_flags(STAGES).size(case.push.len() as u32 * 4);
        let push = [push];
        let push = if case.push.is_empty() { &push[..0] } else { &push[..] };
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(push);
        // SAFETY: see the module.
        let layout = unsafe { vulkan.device.create_pipeline_layout(&info, None) };
        let layout = objects.add(layout.map_err(failed("vkCreatePipelineLayout"))?, Object::Layout);
        let sets = sets(&objects, case, &layouts, &buffers)?;
        Ok(Self { case, objects, layout, memory, sets, buffers })
    }

    /// Binds the descriptor sets, and stores the push constants.
    pub fn bind(&self, commands: vk::CommandBuffer, point: vk::PipelineBindPoint) {
        let device = &self.objects.vulkan.device;
        let push: Vec<_> = self.case.push.iter().flat_map(|word| word.to_le_bytes()).collect();
        // SAFETY: see the module; `commands` are being recorded.
        unsafe {
            if !self.sets.is_empty() {
                device.cmd_bind_descriptor_sets(commands, point, self.layout, 0, &self.sets, &[]);
            }
            if !push.is_empty() {
                device.cmd_push_constants(commands, self.layout, STAGES, 0, &push);
            }
        }
    }

    /// Returns the surfaces as they are now; those that are no buffers have their first content.
    pub fn surfaces(&self) -> Result<Memory, String> {
        let mut memory = self.memory.clone();
        for (binding, mapped) in &self.buffers {
            memory.insert(*binding, content(&self.objects, mapped)?);
        }
        Ok(memory)
    }

    /// Returns the places of specialization constants, and their bytes.
    pub fn values(&self) -> (Vec<vk::SpecializationMapEntry>, Vec<u8>) {
        let values = self.case.values.iter().enumerate();
        let entry = |(place, (id, _)): (usize, &(u32, u32))| vk::SpecializationMapEntry {
            constant_id: *id,
            offset: place as u32 * 4,
            size: 4,
        };
        (
            values.map(entry).collect(),
            self.case.values.iter().flat_map(|(_, bits)| bits.to_le_bytes()).collect(),
        )
    }
}

/// Returns the type of a buffer's descriptor.
fn descriptor(uniform: bool) -> vk::DescriptorType {
    if uniform { vk::DescriptorType::UNIFORM_BUFFER } else { vk::DescriptorType::STORAGE_BUFFER }
}

/// Makes the layouts of the descriptor sets, from set 0 to the last one.
fn set_layouts(objects: &Objects<'_>, case: &Case) -> Result<Vec<vk::DescriptorSetLayout>, String> {
    let count = case.buffers.iter().map(|one| one.set + 1).max().unwrap_or(0);
    let layout = |set| {
        let buffers = case.buffers.iter().filter(|one| one.set == set);
        let bindings: Vec<_> = buffers
            .map(|one| {
                let binding = vk::DescriptorSetLayoutBinding::default().binding(one.binding);
                binding.descriptor_type(descriptor(one.uniform)).descriptor_count(1).stage_flags(STAGES)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: see the module.
        let layout = unsafe { objects.vulkan.device.create_descriptor_set_layout(&info, None) };
        Ok(objects.add(layout.map_err(failed("vkCreateDescriptorSetLayout"))?, Object::SetLayout))
    };
    (0..count).map(layout).collect()
}

/// Makes the descriptor sets, which refer to the buffers.
fn sets(
    objects: &Objects<'_>,
    case: &Case,
    layouts: &[vk::DescriptorSetLayout],
    buffers: &[(Binding, Mapped)],
) -> Result<Vec<vk::DescriptorSet>, String> {
    if layouts.is_empty() {
        return Ok(Vec::new());
    }
    let device = &objects.vulkan.device;
    let sizes = [false, true].map(|uniform| {
        let count = case.buffers.iter().filter(|one| one.uniform == uniform).count() as u32;
        vk::DescriptorPoolSize { ty: descriptor(uniform), descriptor_count: count.max(1) }
    });
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(layouts.len() as u32).pool_sizes(&sizes);
    // SAFETY: see the module.
    let pool = unsafe { device.create_descriptor_pool(&info, None) };
    let pool = objects.add(pool.map_err(failed("vkCreateDescriptorPool"))?, Object::SetPool);
    let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(layouts);
    // SAFETY: see the module; sets are freed with their pool.
    let sets =
        unsafe { device.allocate_descriptor_sets(&info) }.map_err(failed("vkAllocateDescriptorSets"))?;
    for (one, (_, mapped)) in case.buffers.iter().zip(buffers) {
        let info = [vk::DescriptorBufferInfo::default().buffer(mapped.buffer).range(vk::WHOLE_SIZE)];
        let write =
            vk::WriteDescriptorSet::default().dst_set(sets[one.set as usize]).dst_binding(one.binding);
        let write = write.descriptor_type(descriptor(one.uniform)).buffer_info(&info);
        // SAFETY: see the module.
        unsafe { device.update_descriptor_sets(&[write], &[]) };
    }
    Ok(sets)
}
