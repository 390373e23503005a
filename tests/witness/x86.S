// One x86 instruction on records in memory: as a function for this machine's processor, and in a ROM for an emulator.
//
// INSTRUCTION reads zmm1 and zmm2, or tmm1 and tmm2, and changes zmm0 or tmm0. A record is these two and what it
// changes: 64 bytes each, or with TILES 1,024.

.section .text.run, "ax"
.code64
.globl run
run:                            // rdi: records, rsi: how many, rdx: where the results go
#ifdef TILES
#ifndef ROM
    push %rdi
    push %rsi
    push %rdx
    mov $158, %eax              // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA)
    mov $0x1023, %edi
    mov $18, %esi
    syscall
    pop %rdx
    pop %rsi
    pop %rdi
    test %eax, %eax
    jnz 3f
#endif
    ldtilecfg tiles(%rip)
    mov $64, %ecx
#endif
    xor %eax, %eax
1:  cmp %rsi, %rax
    je 2f
#ifdef TILES
    tileloadd 2048(%rdi,%rcx,1), %tmm0
    tileloadd (%rdi,%rcx,1), %tmm1
    tileloadd 1024(%rdi,%rcx,1), %tmm2
    INSTRUCTION
    tilestored %tmm0, (%rdx,%rcx,1)
    add $3072, %rdi
    add $1024, %rdx
#else
    vmovdqu64 (%rdi), %zmm1
    vmovdqu64 64(%rdi), %zmm2
    vmovdqu64 128(%rdi), %zmm0
    INSTRUCTION
    vmovdqu64 %zmm0, (%rdx)
    add $192, %rdi
    add $64, %rdx
#endif
    inc %rax
    jmp 1b
2:
#ifdef TILES
    tilerelease
#endif
3:  vzeroupper
    ret                         // rax: how many

#ifdef TILES
.balign 64
tiles:                          // tmm0 to tmm2, of 16 rows of 64 bytes
    .byte 1
    .fill 15, 1, 0
    .word 64, 64, 64
    .fill 26, 1, 0
    .byte 16, 16, 16
    .fill 13, 1, 0
#endif

#ifdef ROM
#define RECORDS 0x1000000
#define RESULTS 0x8000000

// Without firmware: to 64 bits, memory mapped to itself; records come from the disk, results go to port 0xe9.
.section .text.start, "ax"
.code16
start:
    cli
    lgdtl %cs:(gdt_pointer - start)
    mov %cr0, %eax
    or $1, %eax
    mov %eax, %cr0
    ljmpl $8, $protected
.code32
protected:
    mov $16, %eax
    mov %eax, %ds
    mov %eax, %es
    mov %eax, %ss
    cld
    mov $0x8000, %edi           // tables of pages: 512 of 2 MiB
    xor %eax, %eax
    mov $0xC00, %ecx
    rep stosl
    movl $0x9003, 0x8000
    movl $0xA003, 0x9000
    mov $0xA000, %edi
    mov $0x83, %eax
1:  mov %eax, (%edi)
    add $0x200000, %eax
    add $8, %edi
    cmp $0xB000, %edi
    jne 1b
    mov $0x8000, %eax
    mov %eax, %cr3
    mov $0x40620, %eax          // PAE, OSFXSR, OSXMMEXCPT, OSXSAVE
    mov %eax, %cr4
    mov $0xC0000080, %ecx       // EFER.LME
    rdmsr
    or $0x100, %eax
    wrmsr
    mov $0x80000033, %eax
    mov %eax, %cr0
    ljmpl $24, $long
.code64
long:
    mov $0x7000, %esp
    xor %ecx, %ecx
    xor %edx, %edx
    mov $0xE7, %eax             // x87, SSE, AVX and AVX-512
#ifdef TILES
    or $0x60000, %eax
#endif
    xsetbv
    mov $RECORDS, %edi
    xor %ebx, %ebx
read:                           // 256 sectors at a time, as often as the first four bytes say
    mov $0x1F2, %edx
    xor %eax, %eax
    out %al, %dx
    inc %edx
    out %al, %dx
    inc %edx
    mov %ebx, %eax
    out %al, %dx
    inc %edx
    mov %bh, %al
    out %al, %dx
    inc %edx
    mov $0xE0, %al
    out %al, %dx
    inc %edx
    mov $0x20, %al
    out %al, %dx
    mov $256, %r8d
1:  mov $0x1F7, %edx
    in %dx, %al
    and $0x88, %al
    cmp $8, %al
    jne 1b
    mov $0x1F0, %edx
    mov $256, %ecx
    rep insw
    dec %r8d
    jnz 1b
    inc %ebx
    cmp RECORDS, %ebx
    jne read
    mov $(RECORDS + 64), %edi
    mov RECORDS + 8, %rsi
    mov $RESULTS, %edx
    call run
    mov $0xE9, %edx
    lea begin(%rip), %rsi
    mov $6, %ecx
    rep outsb
    mov RECORDS + 16, %rcx      // bytes of results
    mov $RESULTS, %esi
    rep outsb
    lea end(%rip), %rsi
    mov $8, %ecx
    mov $0x8900, %edx
    rep outsb
1:  hlt
    jmp 1b
begin: .ascii "HWSIM:"
end: .ascii "Shutdown"
.balign 8
gdt: .quad 0, 0x00CF9A000000FFFF, 0x00CF92000000FFFF, 0x00AF9A000000FFFF
gdt_pointer: .word 31
    .long gdt
.section .reset, "ax"
.code16
    ljmp $0xF000, $0
#endif
.section .note.GNU-stack, "", @progbits
