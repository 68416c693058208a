// A Vulkan program that maps the second half of a memory object, stores numbers there, flushes exactly these bytes, and lets a compute shader
// (examples/shaders/add.spv, the first argument) add 1 to each. Prints how many sums are wrong. A driver that adds the map's offset to the
// range's offset, which Vulkan counts from the start of the object, flushes other bytes (docs/porting.md, A1). With `whole` as the second argument it
// maps the whole object, where both are the same.
//
//     cc -g -o mapped_at mapped_at.c -lvulkan
//     gemtool sanitize glk -- ./mapped_at add.spv
#include "vk.h"

enum { HALF = 16384, COUNT = 1024, ROUNDS = 4 };

static VkBuffer buffer(VkDeviceMemory memory, VkDeviceSize offset)
{
    VkBuffer buffer;
    CHECK(vkCreateBuffer(device, &(VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = HALF, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
    }, NULL, &buffer));
    CHECK(vkBindBufferMemory(device, buffer, memory, offset));
    return buffer;
}

static VkDeviceMemory allocate(VkDeviceSize size, uint32_t type)
{
    VkDeviceMemory memory;
    CHECK(vkAllocateMemory(device, &(VkMemoryAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = size, .memoryTypeIndex = type,
    }, NULL, &memory));
    return memory;
}

static VkPipeline pipeline(const char *path, VkPipelineLayout layout)
{
    static uint32_t code[1 << 14];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t bytes = fread(code, 1, sizeof code, file);
    fclose(file);
    VkShaderModule shader;
    CHECK(vkCreateShaderModule(device, &(VkShaderModuleCreateInfo){
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code,
    }, NULL, &shader));
    VkPipeline pipeline;
    CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &(VkComputePipelineCreateInfo){
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = layout,
        .stage = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = shader, .pName = "main",
        },
    }, NULL, &pipeline));
    return pipeline;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s SHADER [whole]\n", argv[0]);
        return 2;
    }
    VkDeviceSize first = argc > 2 && !strcmp(argv[2], "whole") ? 0 : HALF;
    VkInstance instance;
    CHECK(vkCreateInstance(&(VkInstanceCreateInfo){ .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO }, NULL, &instance));
    uint32_t one = 1;
    vkEnumeratePhysicalDevices(instance, &one, &gpu);
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority,
    };
    CHECK(vkCreateDevice(gpu, &(VkDeviceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info,
    }, NULL, &device));
    VkQueue queue;
    vkGetDeviceQueue(device, 0, 0, &queue);
    // The numbers are in the second half; the sums are in coherent memory.
    VkDeviceMemory numbers = allocate(2 * HALF, memory_type(~0u, 0)), sums = allocate(HALF, memory_type(~0u, 1));
    VkBuffer buffers[] = { buffer(numbers, HALF), buffer(sums, 0) };

    VkDescriptorSetLayoutBinding bindings[2];
    for (uint32_t n = 0; n < 2; n++)
        bindings[n] = (VkDescriptorSetLayoutBinding){ n, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL };
    VkDescriptorSetLayout set_layout;
    CHECK(vkCreateDescriptorSetLayout(device, &(VkDescriptorSetLayoutCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings,
    }, NULL, &set_layout));
    VkPipelineLayout layout;
    CHECK(vkCreatePipelineLayout(device, &(VkPipelineLayoutCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout,
    }, NULL, &layout));
    VkDescriptorPool descriptors;
    CHECK(vkCreateDescriptorPool(device, &(VkDescriptorPoolCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1,
        .pPoolSizes = &(VkDescriptorPoolSize){ VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 },
    }, NULL, &descriptors));
    VkDescriptorSet set;
    CHECK(vkAllocateDescriptorSets(device, &(VkDescriptorSetAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = descriptors, .descriptorSetCount = 1,
        .pSetLayouts = &set_layout,
    }, &set));
    for (uint32_t n = 0; n < 2; n++)
        vkUpdateDescriptorSets(device, 1, &(VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .dstBinding = n, .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &(VkDescriptorBufferInfo){ buffers[n], 0, VK_WHOLE_SIZE },
        }, 0, NULL);

    VkCommandBuffer commands = begin_commands();
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline(argv[1], layout));
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, COUNT / 16, 1, 1);
    CHECK(vkEndCommandBuffer(commands));

    // From the map on, the program follows Vulkan's rules.
    char *bytes;
    CHECK(vkMapMemory(device, numbers, first, VK_WHOLE_SIZE, 0, (void **)&bytes));
    uint32_t *stored = (uint32_t *)(bytes + HALF - first), *read;
    CHECK(vkMapMemory(device, sums, 0, VK_WHOLE_SIZE, 0, (void **)&read));
    int wrong = 0;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (uint32_t n = 0; n < COUNT; n++)
            stored[n] = round * COUNT + n;
        CHECK(vkFlushMappedMemoryRanges(device, 1, &(VkMappedMemoryRange){
            .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = numbers, .offset = HALF, .size = HALF,
        }));
        CHECK(vkQueueSubmit(queue, 1, &(VkSubmitInfo){
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands,
        }, VK_NULL_HANDLE));
        CHECK(vkQueueWaitIdle(queue));
        for (uint32_t n = 0; n < COUNT; n++)
            wrong += read[n] != round * COUNT + n + 1;
    }
    printf("wrong: %d of %d\n", wrong, ROUNDS * COUNT);
    return 0;
}
