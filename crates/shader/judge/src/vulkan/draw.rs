//! Draws of fragment shaders: a triangle that covers all pixels, or, if the shader has inputs, a point for each pixel.
//!
//! The inputs of a pixel are vertex attributes of its point, so that they are those of the surface. The outputs are attachments.
//!
//! # Safety
//!
//! As in `device.rs`.

use std::time::Instant;

use ash::vk;
use gem_shader_compiler::Binding;

use super::Judged;
use super::device::{Object, Objects, failed};
use super::resources::{Mapped, Resources, buffer, content};
use crate::directives::{Case, PIXEL_BYTES};
use crate::tools::Folder;

/// An image that is an output, and a buffer with its content.
struct Attachment {
    location: u32,
    format: vk::Format,
    image: vk::Image,
    view: vk::ImageView,
    staging: Mapped,
}

/// The layout of images, which suits all accesses.
const LAYOUT: vk::ImageLayout = vk::ImageLayout::GENERAL;

/// The one part of an image.
const RANGE: vk::ImageSubresourceRange = vk::ImageSubresourceRange {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    base_mip_level: 0,
    level_count: 1,
    base_array_layer: 0,
    layer_count: 1,
};

/// Returns the format of a type's pixels.
fn format(kind: &str) -> vk::Format {
    match kind.as_bytes().first() {
        Some(b'i') => vk::Format::R32G32B32A32_SINT,
        Some(b'u') => vk::Format::R32G32B32A32_UINT,
        Some(_) | None => vk::Format::R32G32B32A32_SFLOAT,
    }
}

/// Returns the vertex shader of a case.
fn vertex_shader(case: &Case) -> String {
    let [width, height, _] = case.extent;
    let (mut declarations, mut copies) = (String::new(), String::new());
    for one in &case.inputs {
        let (location, kind) = (one.location, &one.kind);
        declarations += &format!("layout(location = {location}) in {kind} a{location};\n");
        declarations += &format!("layout(location = {location}) out {kind} v{location};\n");
        copies += &format!("    v{location} = a{location};\n");
    }
    let position = if case.inputs.is_empty() {
        "vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0".to_owned()
    } else {
        let pixel = format!("vec2(gl_VertexIndex % {width}, gl_VertexIndex / {width})");
        format!("({pixel} + 0.5) / vec2({width}, {height}) * 2.0 - 1.0")
    };
    format!(
        "#version 450\n{declarations}void main() {{\n{copies}    gl_Position = vec4({position}, 0.5, 1.0);\n    \
         gl_PointSize = 1.0;\n}}\n"
    )
}

/// Runs a fragment shader.
///
/// # Errors
/// The call that failed, or what a tool says about the vertex shader.
pub fn run(resources: &Resources<'_>, module: &[u8], folder: &Folder) -> Result<Judged, String> {
    let (case, objects) = (resources.case, &resources.objects);
    let attachments: Vec<_> = case
        .outputs
        .iter()
        .map(|one| attachment(resources, one.location, &one.kind))
        .collect::<Result<_, _>>()?;
    let mut vertices = Vec::new();
    for one in &case.inputs {
        let bytes = &resources.memory[&Binding::Input { location: one.location }];
        vertices.push(buffer(objects, bytes, vk::BufferUsageFlags::VERTEX_BUFFER)?);
    }
    let vertex = folder.vertex(vertex_shader(case))?;
    let start = Instant::now();
    let pipeline = pipeline(resources, &vertex, module, &attachments)?;
    objects.vulkan.submit(|commands| record(resources, commands, pipeline, &attachments, &vertices))?;
    let compilation = start.elapsed();
    let mut memory = resources.surfaces()?;
    for one in &attachments {
        memory.insert(Binding::Output { location: one.location }, content(objects, &one.staging)?);
    }
    Ok(Judged { memory, compilation })
}

/// Makes the image of an output.
fn attachment(resources: &Resources<'_>, location: u32, kind: &str) -> Result<Attachment, String> {
    let objects = &resources.objects;
    let device = &objects.vulkan.device;
    let [width, height, _] = resources.case.extent;
    let format = format(kind);
    let copies = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let info = vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(format)
        .extent(vk::Extent3D { width, height, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | copies);
    let copies = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    let staging = buffer(objects, &resources.memory[&Binding::Output { location }], copies)?;
    // SAFETY: see the module.
    unsafe {
        let image = device.create_image(&info, None).map_err(failed("vkCreateImage"))?;
        objects.add(image, Object::Image);
        let memory = objects.memory(device.get_image_memory_requirements(image))?;
        device.bind_image_memory(image, memory, 0).map_err(failed("vkBindImageMemory"))?;
        let info = vk::ImageViewCreateInfo::default().image(image).view_type(vk::ImageViewType::TYPE_2D);
        let view = device.create_image_view(&info.format(format).subresource_range(RANGE), None);
        let view = objects.add(view.map_err(failed("vkCreateImageView"))?, Object::View);
        Ok(Attachment { location, format, image, view, staging })
    }
}

/// Returns the attachment of each location, from the first one to the last one.
fn by_location(attachments: &[Attachment]) -> Vec<Option<&Attachment>> {
    let count = attachments.iter().map(|one| one.location + 1).max().unwrap_or(0);
    (0..count).map(|location| attachments.iter().find(|one| one.location == location)).collect()
}

/// Makes the pipeline.
fn pipeline(
    resources: &Resources<'_>,
    vertex: &[u8],
    fragment: &[u8],
    attachments: &[Attachment],
) -> Result<vk::Pipeline, String> {
    let (case, objects): (_, &Objects<'_>) = (resources.case, &resources.objects);
    let (entries, data) = resources.values();
    let values = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
    let stage = |stage| vk::PipelineShaderStageCreateInfo::default().stage(stage).name(c"main");
    let stages = [
        stage(vk::ShaderStageFlags::VERTEX).module(objects.module(vertex)?),
        stage(vk::ShaderStageFlags::FRAGMENT).module(objects.module(fragment)?).specialization_info(&values),
    ];
    let places = || case.inputs.iter().enumerate().map(|(place, one)| (place as u32, one));
    let rate = vk::VertexInputRate::VERTEX;
    let bindings: Vec<_> = places()
        .map(|(binding, _)| vk::VertexInputBindingDescription {
            binding,
            stride: PIXEL_BYTES as u32,
            input_rate: rate,
        })
        .collect();
    let attributes: Vec<_> = places()
        .map(|(binding, one)| {
            let (location, format) = (one.location, format(&one.kind));
            vk::VertexInputAttributeDescription { location, binding, format, offset: 0 }
        })
        .collect();
    let input = vk::PipelineVertexInputStateCreateInfo::default()
        .vertex_binding_descriptions(&bindings)
        .vertex_attribute_descriptions(&attributes);
    let points = !case.inputs.is_empty();
    let topology =
        if points { vk::PrimitiveTopology::POINT_LIST } else { vk::PrimitiveTopology::TRIANGLE_LIST };
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
    let [width, height, _] = case.extent;
    // The triangle is half of the viewport. A larger one would be clipped, at edges whose quads lavapipe has wrong derivatives for: its
    // helper invocations do not load from buffers.
    let times = if points { 1.0 } else { 4.0 };
    let viewport =
        vk::Viewport::default().width(width as f32 * times).height(height as f32 * times).max_depth(1.0);
    let (viewports, scissors) = ([viewport], [area(case)]);
    let view = vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissors(&scissors);
    let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let samples =
        vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let located = by_location(attachments);
    let mask =
        vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA);
    let masks = vec![mask; located.len()];
    let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&masks);
    let formats: Vec<_> =
        located.iter().map(|one| one.map_or(vk::Format::UNDEFINED, |one| one.format)).collect();
    let mut rendering = vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
    let info = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&input)
        .input_assembly_state(&assembly)
        .viewport_state(&view)
        .rasterization_state(&raster)
        .multisample_state(&samples)
        .color_blend_state(&blend)
        .layout(resources.layout)
        .push_next(&mut rendering);
    // SAFETY: see the module.
    let made =
        unsafe { objects.vulkan.device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
    let made = made.map_err(|(_, error)| failed("vkCreateGraphicsPipelines")(error))?;
    Ok(objects.add(made[0], Object::Pipeline))
}

/// Returns the rectangle of all pixels.
fn area(case: &Case) -> vk::Rect2D {
    let [width, height, _] = case.extent;
    vk::Rect2D { offset: vk::Offset2D::default(), extent: vk::Extent2D { width, height } }
}

/// Records the copies to the images, the draw, and the copies from them.
fn record(
    resources: &Resources<'_>,
    commands: vk::CommandBuffer,
    pipeline: vk::Pipeline,
    attachments: &[Attachment],
    vertices: &[Mapped],
) {
    let (case, device) = (resources.case, &resources.objects.vulkan.device);
    let [width, height, _] = case.extent;
    let layers =
        vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR).layer_count(1);
    let region = vk::BufferImageCopy::default().image_subresource(layers);
    let region = region.image_extent(vk::Extent3D { width, height, depth: 1 });
    let all = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
    let barrier = |old: vk::ImageLayout| {
        let stages = vk::PipelineStageFlags::ALL_COMMANDS;
        let host = vk::PipelineStageFlags::ALL_COMMANDS | vk::PipelineStageFlags::HOST;
        let memory = vk::MemoryBarrier::default()
            .src_access_mask(all)
            .dst_access_mask(all | vk::AccessFlags::HOST_READ);
        let images: Vec<_> = attachments
            .iter()
            .map(|one| {
                let barrier = vk::ImageMemoryBarrier::default().src_access_mask(all).dst_access_mask(all);
                barrier.old_layout(old).new_layout(LAYOUT).image(one.image).subresource_range(RANGE)
            })
            .collect();
        // SAFETY: see the module; `commands` are being recorded.
        unsafe {
            device.cmd_pipeline_barrier(
                commands,
                stages,
                host,
                vk::DependencyFlags::empty(),
                &[memory],
                &[],
                &images,
            );
        }
    };
    barrier(vk::ImageLayout::UNDEFINED);
    for one in attachments {
        // SAFETY: see the module; `commands` are being recorded.
        unsafe {
            device.cmd_copy_buffer_to_image(commands, one.staging.buffer, one.image, LAYOUT, &[region])
        };
    }
    barrier(LAYOUT);
    let colors: Vec<_> = by_location(attachments)
        .into_iter()
        .map(|one| {
            let info = vk::RenderingAttachmentInfo::default().image_layout(LAYOUT);
            let view = one.map_or(vk::ImageView::null(), |one| one.view);
            info.image_view(view).load_op(vk::AttachmentLoadOp::LOAD).store_op(vk::AttachmentStoreOp::STORE)
        })
        .collect();
    let rendering =
        vk::RenderingInfo::default().render_area(area(case)).layer_count(1).color_attachments(&colors);
    let count = if vertices.is_empty() { 3 } else { width * height };
    resources.bind(commands, vk::PipelineBindPoint::GRAPHICS);
    // SAFETY: see the module; `commands` are being recorded.
    unsafe {
        device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::GRAPHICS, pipeline);
        let buffers: Vec<_> = vertices.iter().map(|one| one.buffer).collect();
        if !buffers.is_empty() {
            device.cmd_bind_vertex_buffers(commands, 0, &buffers, &vec![0; buffers.len()]);
        }
        device.cmd_begin_rendering(commands, &rendering);
        device.cmd_draw(commands, count, 1, 0, 0);
        device.cmd_end_rendering(commands);
    }
    barrier(LAYOUT);
    for one in attachments {
        // SAFETY: see the module; `commands` are being recorded.
        unsafe {
            device.cmd_copy_image_to_buffer(commands, one.image, LAYOUT, one.staging.buffer, &[region])
        };
    }
    barrier(LAYOUT);
}
