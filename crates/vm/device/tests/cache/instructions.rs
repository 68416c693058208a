//! Instructions, as an assembler encodes them.

use super::cache::instructions::{Flush, Instruction, Operand, decode};

const AT: u64 = 0x40_0000;

fn operand(base: Option<u8>, index: Option<(u8, u8)>, displacement: i64) -> Operand {
    Operand { base, index, displacement: displacement.cast_unsigned(), segment: None, short: false }
}

#[test]
fn flushes_have_an_operand() {
    let flush = |flush, operand| Instruction::Flush(flush, operand);
    for (code, expected) in [
        // clflush (%rdi); clflush 0x40(%r13); clflush -0x8(%rsp)
        (&[0x0f, 0xae, 0x3f][..], flush(Flush::Strong, operand(Some(7), None, 0))),
        (&[0x41, 0x0f, 0xae, 0x7d, 0x40], flush(Flush::Strong, operand(Some(13), None, 0x40))),
        (&[0x0f, 0xae, 0x7c, 0x24, 0xf8], flush(Flush::Strong, operand(Some(4), None, -8))),
        // clflushopt (%rax,%rcx,8); clflushopt 0x1000(,%r9,2)
        (&[0x66, 0x0f, 0xae, 0x3c, 0xc8], flush(Flush::Weak, operand(Some(0), Some((1, 3)), 0))),
        (
            &[0x66, 0x42, 0x0f, 0xae, 0x3c, 0x4d, 0, 0x10, 0, 0],
            flush(Flush::Weak, operand(None, Some((9, 1)), 0x1000)),
        ),
        // clwb 0x10(%rip), of eight bytes; clwb %gs:(%rax); clflush (%edi)
        (&[0x66, 0x0f, 0xae, 0x35, 0x10, 0, 0, 0], flush(Flush::WriteBack, operand(None, None, 0x40_0018))),
        (
            &[0x65, 0x66, 0x0f, 0xae, 0x30],
            flush(Flush::WriteBack, Operand { segment: Some(5), ..operand(Some(0), None, 0) }),
        ),
        (
            &[0x67, 0x0f, 0xae, 0x3f],
            flush(Flush::Strong, Operand { short: true, ..operand(Some(7), None, 0) }),
        ),
    ] {
        assert_eq!(decode(code, AT), expected, "{code:x?}");
    }
}

#[test]
fn others_are_known_by_their_bytes() {
    for (code, expected) in [
        // wbinvd; movnti %rax,(%rdi); movntdq %xmm0,(%rdi); vmovntdq %ymm0,(%rdi); maskmovdqu %xmm1,%xmm0
        (&[0x0f, 0x09][..], Instruction::WriteBackAll),
        (&[0x48, 0x0f, 0xc3, 0x07], Instruction::StoreAround),
        (&[0x66, 0x0f, 0xe7, 0x07], Instruction::StoreAround),
        (&[0xc5, 0xfd, 0xe7, 0x07], Instruction::StoreAround),
        (&[0x66, 0x0f, 0xf7, 0xc1], Instruction::StoreAround),
        // mfence; sfence; lock incl (%rdi); xchg %eax,(%rdi); cpuid; iretq
        (&[0x0f, 0xae, 0xf0], Instruction::Fence),
        (&[0x0f, 0xae, 0xf8], Instruction::Fence),
        (&[0xf0, 0xff, 0x07], Instruction::Fence),
        (&[0x87, 0x07], Instruction::Fence),
        (&[0x0f, 0xa2], Instruction::Fence),
        (&[0x48, 0xcf], Instruction::Fence),
        (&[0xc3], Instruction::Return),
        // lfence; fxsave (%rdi); xchg %eax,%edi; mov %eax,(%rdi); nothing
        (&[0x0f, 0xae, 0xe8], Instruction::Other),
        (&[0x0f, 0xae, 0x07], Instruction::Other),
        (&[0x87, 0xc7], Instruction::Other),
        (&[0x89, 0x07], Instruction::Other),
        (&[], Instruction::Other),
    ] {
        assert_eq!(decode(code, AT), expected, "{code:x?}");
    }
}

#[test]
fn missing_bytes_are_no_flush() {
    for code in [&[0x0f, 0xae, 0x7c][..], &[0x0f, 0xae, 0x7c, 0x24], &[0x0f, 0xae, 0x3d, 0, 0], &[0x0f, 0xae]]
    {
        assert_eq!(decode(code, AT), Instruction::Other, "{code:x?}");
    }
}
