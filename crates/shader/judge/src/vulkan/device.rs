//! A software device of Vulkan, and objects that are destroyed with their scope.
//!
//! # Safety
//!
//! Handles are those of this device. An object lives in [`Objects`], which waits for the device before it destroys them, last one first,
//! and the device outlives that by its lifetime. Pointers in creation structs are to values of the calling function.

use ash::vk;

use crate::directives::Case;

/// A device with all features that it has.
pub struct Vulkan {
    /// The device.
    pub device: ash::Device,
    /// Its queue for computation, drawing and copies.
    pub queue: vk::Queue,
    pool: vk::CommandPool,
    /// The type of memory that the host can access without flushes.
    memory_type: u32,
    features: Vec<(&'static str, bool)>,
    name: String,
    instance: ash::Instance,
    /// The library is loaded as long as this lives.
    _entry: ash::Entry,
}

/// Returns the text of an error of Vulkan.
pub fn failed(what: &'static str) -> impl FnOnce(vk::Result) -> String {
    move |error| format!("{what}: {error}")
}

impl Vulkan {
    /// Opens the first device that is a CPU, or the first one that is none.
    ///
    /// # Errors
    /// The library, the device or the memory that is missing.
    pub fn open(is_cpu: bool) -> Result<Self, String> {
        // SAFETY: the loader of Vulkan may be loaded at any time.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| format!("libvulkan: {error}"))?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: see the module.
        let instance = unsafe { entry.create_instance(&info, None) }.map_err(failed("vkCreateInstance"))?;
        // SAFETY: see the module.
        let all = unsafe { instance.enumerate_physical_devices() };
        let all = all.map_err(failed("vkEnumeratePhysicalDevices"))?;
        // SAFETY: see the module.
        let properties = |one| unsafe { instance.get_physical_device_properties(one) };
        let is_wanted = |one: &vk::PhysicalDevice| {
            (properties(*one).device_type == vk::PhysicalDeviceType::CPU) == is_cpu
        };
        let what = if is_cpu { "a CPU: install mesa-vulkan-drivers" } else { "a GPU" };
        let physical = all.into_iter().find(is_wanted).ok_or(format!("no device of Vulkan is {what}"))?;
        let name =
            properties(physical).device_name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
        let mut v13 = vk::PhysicalDeviceVulkan13Features::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut base = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut v11)
            .push_next(&mut v12)
            .push_next(&mut v13);
        // SAFETY: see the module.
        unsafe { instance.get_physical_device_features2(physical, &mut base) };
        let queue = vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0]);
        let queues = [queue];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut base);
        // SAFETY: see the module.
        let device =
            unsafe { instance.create_device(physical, &info, None) }.map_err(failed("vkCreateDevice"))?;
        let of = base.features;
        let features = vec![
            ("float64", of.shader_float64 != 0),
            ("int64", of.shader_int64 != 0),
            ("int16", of.shader_int16 != 0),
            ("int8", v12.shader_int8 != 0),
            ("float16", v12.shader_float16 != 0),
            ("storage8", v12.storage_buffer8_bit_access != 0),
            ("storage16", v11.storage_buffer16_bit_access != 0),
            ("uniform16", v11.uniform_and_storage_buffer16_bit_access != 0),
            ("push16", v11.storage_push_constant16 != 0),
            ("demote", v13.shader_demote_to_helper_invocation != 0),
        ];
        // SAFETY: see the module.
        let queue = unsafe { device.get_device_queue(0, 0) };
        // SAFETY: see the module.
        let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let types = memory.memory_types_as_slice();
        let memory_type = types.iter().position(|one| one.property_flags.contains(wanted));
        let memory_type = memory_type.ok_or("no memory is coherent")? as u32;
        // SAFETY: see the module.
        let pool = unsafe { device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None) };
        let pool = pool.map_err(failed("vkCreateCommandPool"))?;
        Ok(Self { device, queue, pool, memory_type, features, name, instance, _entry: entry })
    }

    /// Returns the name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a feature that a case needs, and that the device lacks or that has no name here.
    pub fn lacks<'a>(&self, case: &'a Case) -> Option<&'a str> {
        let has = |need: &str| self.features.iter().any(|(name, has)| *name == need && *has);
        case.needs.iter().map(String::as_str).find(|need| !has(need))
    }

    /// Records commands, and waits until the device has carried them out.
    pub fn submit(&self, record: impl FnOnce(vk::CommandBuffer)) -> Result<(), String> {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: see the module; the buffer is freed when the device is idle.
        unsafe {
            let buffers =
                self.device.allocate_command_buffers(&info).map_err(failed("vkAllocateCommandBuffers"))?;
            let begun = self.device.begin_command_buffer(buffers[0], &vk::CommandBufferBeginInfo::default());
            begun.map_err(failed("vkBeginCommandBuffer"))?;
            record(buffers[0]);
            self.device.end_command_buffer(buffers[0]).map_err(failed("vkEndCommandBuffer"))?;
            let submit = vk::SubmitInfo::default().command_buffers(&buffers);
            let submitted = self.device.queue_submit(self.queue, &[submit], vk::Fence::null());
            submitted.map_err(failed("vkQueueSubmit"))?;
            self.device.queue_wait_idle(self.queue).map_err(failed("vkQueueWaitIdle"))?;
            self.device.free_command_buffers(self.pool, &buffers);
        }
        Ok(())
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: see the module; nothing else of the device is left.
        unsafe {
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// An object of the device.
#[derive(Clone, Copy, Debug)]
pub enum Object {
    /// A buffer.
    Buffer(vk::Buffer),
    /// An image.
    Image(vk::Image),
    /// A view of an image.
    View(vk::ImageView),
    /// Memory.
    Memory(vk::DeviceMemory),
    /// The layout of a descriptor set.
    SetLayout(vk::DescriptorSetLayout),
    /// A pool of descriptor sets.
    SetPool(vk::DescriptorPool),
    /// The layout of a pipeline.
    Layout(vk::PipelineLayout),
    /// A module.
    Module(vk::ShaderModule),
    /// A pipeline.
    Pipeline(vk::Pipeline),
}

/// Objects that are destroyed with this.
pub struct Objects<'a> {
    /// The device.
    pub vulkan: &'a Vulkan,
    made: std::cell::RefCell<Vec<Object>>,
}

impl<'a> Objects<'a> {
    /// Returns no objects.
    pub fn new(vulkan: &'a Vulkan) -> Self {
        Self { vulkan, made: std::cell::RefCell::default() }
    }

    /// Adds one that was made.
    pub fn add<T: Copy>(&self, handle: T, object: fn(T) -> Object) -> T {
        self.made.borrow_mut().push(object(handle));
        handle
    }

    /// Allocates memory as `needs` says.
    pub fn memory(&self, needs: vk::MemoryRequirements) -> Result<vk::DeviceMemory, String> {
        let kind = self.vulkan.memory_type;
        if needs.memory_type_bits & (1 << kind) == 0 {
            return Err(format!("memory of type {kind} does not fit"));
        }
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
        // SAFETY: see the module.
        let memory = unsafe { self.vulkan.device.allocate_memory(&info, None) };
        Ok(self.add(memory.map_err(failed("vkAllocateMemory"))?, Object::Memory))
    }

    /// Makes a shader module of its bytes.
    pub fn module(&self, bytes: &[u8]) -> Result<vk::ShaderModule, String> {
        let words: Vec<_> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: see the module; spirv-val has validated the words.
        let module = unsafe { self.vulkan.device.create_shader_module(&info, None) };
        Ok(self.add(module.map_err(failed("vkCreateShaderModule"))?, Object::Module))
    }
}

impl Drop for Objects<'_> {
    fn drop(&mut self) {
        let device = &self.vulkan.device;
        for object in self.made.get_mut().drain(..).rev() {
            // SAFETY: see the module; `submit` waits until the device is idle.
            unsafe {
                match object {
                    Object::Buffer(one) => device.destroy_buffer(one, None),
                    Object::Image(one) => device.destroy_image(one, None),
                    Object::View(one) => device.destroy_image_view(one, None),
                    Object::Memory(one) => device.free_memory(one, None),
                    Object::SetLayout(one) => device.destroy_descriptor_set_layout(one, None),
                    Object::SetPool(one) => device.destroy_descriptor_pool(one, None),
                    Object::Layout(one) => device.destroy_pipeline_layout(one, None),
                    Object::Module(one) => device.destroy_shader_module(one, None),
                    Object::Pipeline(one) => device.destroy_pipeline(one, None),
                }
            }
        }
    }
}
