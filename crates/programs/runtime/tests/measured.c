// A Vulkan program: records a command buffer anew in each of three frames, with one dispatch of a shader that does nothing, submits it,
// and waits for it. Mesa measures the dispatches if INTEL_MEASURE is set.
//
//     cc -g -o measured measured.c -lvulkan
//     INTEL_MEASURE=file=m.csv gemtool sanitize chv -- ./measured
#include "vk.h"

enum { FRAMES = 3 };

// SPIR-V of `void main() {}`, with one invocation a group.
static const uint32_t shader[] = {
    0x07230203, 0x00010000, 0, 5, 0,
    2u << 16 | 17, 1,                             // OpCapability Shader
    3u << 16 | 14, 0, 1,                          // OpMemoryModel Logical GLSL450
    5u << 16 | 15, 5, 3, 0x6e69616d, 0,           // OpEntryPoint GLCompute %3 "main"
    6u << 16 | 16, 3, 17, 1, 1, 1,                // OpExecutionMode %3 LocalSize 1 1 1
    2u << 16 | 19, 1,                             // %1 = OpTypeVoid
    3u << 16 | 33, 2, 1,                          // %2 = OpTypeFunction %1
    5u << 16 | 54, 1, 3, 0, 2,                    // %3 = OpFunction %1 None %2
    2u << 16 | 248, 4,                            // %4 = OpLabel
    1u << 16 | 253, 1u << 16 | 56,                // OpReturn, OpFunctionEnd
};

int main(void)
{
    VkInstance instance;
    CHECK(vkCreateInstance(&(VkInstanceCreateInfo){ .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO }, NULL, &instance));
    uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance, &count, &gpu);
    float priority = 1;
    VkDeviceQueueCreateInfo queue_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority,
    };
    CHECK(vkCreateDevice(gpu, &(VkDeviceCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info,
    }, NULL, &device));
    VkQueue queue;
    vkGetDeviceQueue(device, 0, 0, &queue);

    VkShaderModule module;
    CHECK(vkCreateShaderModule(device, &(VkShaderModuleCreateInfo){
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof shader, .pCode = shader,
    }, NULL, &module));
    VkPipelineLayout layout;
    CHECK(vkCreatePipelineLayout(device, &(VkPipelineLayoutCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
    }, NULL, &layout));
    VkPipeline pipeline;
    CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &(VkComputePipelineCreateInfo){
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = layout, .stage = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module, .pName = "main",
        },
    }, NULL, &pipeline));

    VkCommandPool pool;
    CHECK(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
    }, NULL, &pool));
    VkCommandBuffer commands;
    CHECK(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1,
    }, &commands));
    for (int frame = 0; frame < FRAMES; frame++) {
        CHECK(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        }));
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        vkCmdDispatch(commands, 1, 1, 1);
        CHECK(vkEndCommandBuffer(commands));
        CHECK(vkQueueSubmit(queue, 1, &(VkSubmitInfo){
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands,
        }, VK_NULL_HANDLE));
        CHECK(vkQueueWaitIdle(queue));
        CHECK(vkResetCommandBuffer(commands, 0));
    }
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyPipeline(device, pipeline, NULL);
    vkDestroyPipelineLayout(device, layout, NULL);
    vkDestroyShaderModule(device, module, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    printf("%d frames\n", FRAMES);
    return 0;
}
