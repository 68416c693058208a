//! Media blocks: rows of a surface, and of registers.

use intel_eu::execute::{Rows, Stop, Why};
use intel_eu::{Opcode, Platform};

use super::surfaces::{Surfaces, assemble, run, stored_from, surfaces};

/// A surface of nine rows, of 160 bytes each.
const ROWS: Rows = Rows { pitch: 192, bytes: 160, count: 9 };

/// The platforms, and the shared functions that know media blocks.
const FUNCTIONS: [(Platform, u32); 7] = [
    (Platform::Ivb, 5),
    (Platform::Hsw, 5),
    (Platform::Hsw, 12),
    (Platform::Chv, 12),
    (Platform::Glk, 12),
    (Platform::Jsl, 12),
    (Platform::Tgl, 12),
];

/// Returns surfaces of which the first has rows with numbers.
fn with_rows() -> Surfaces {
    Surfaces { rows: [Some(ROWS), None], ..surfaces(192 * 9) }
}

/// Returns a message of surface 0 with its header in r2, whose data have so many registers, which come back to r20.
fn message(platform: Platform, function: u32, writes: bool, registers: u32) -> String {
    let (kind, sent, received) = if writes { (10, 1 + registers, 0) } else { (4, 1, registers) };
    let descriptor = sent << 25 | received << 20 | 1 << 19 | kind << 14;
    let to = if writes { "null" } else { "r20" };
    if platform == Platform::Tgl {
        return format!("send.dc1 (16|M0) {to} r2 null 0x0 {descriptor:#X}").replace("0X", "0x");
    }
    format!("send (16|M0) {to}:ud r2 {function:#X} {descriptor:#X}").replace("0X", "0x")
}

fn header([x, y]: [u32; 2], width: u32, height: u32) -> [u32; 3] {
    [x, y, (height - 1) << 16 | (width - 1)]
}

/// Returns the bytes from a row of a block to the next one in registers: a table of the manuals.
fn pitch(width: u32) -> u32 {
    match width {
        1..=4 => 4,
        5..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}

/// Sends a message with the numbers in r2 and, as its data, 1 to 255 from r3 on.
fn write(platform: Platform, text: &str, header: [u32; 3], bus: &mut Surfaces) -> Result<u64, Stop> {
    let end = if platform == Platform::Tgl {
        "(W) send.ts (8|M0) null r112 null 0x0 0x02000010 {EOT}"
    } else {
        "(W) send (8|M0) null:ud r112 0x27 0x02000010 {EOT}"
    };
    let shader = assemble(platform, &format!("{text}\n(W) mov (8|M0) r112.0<1>:ud r0.0<8;8,1>:ud\n{end}"));
    let mut payload = [[0; 32]; 11];
    for (at, dword) in header.into_iter().enumerate() {
        payload[2][4 * at..][..4].copy_from_slice(&dword.to_le_bytes());
    }
    for (at, byte) in payload[3..].iter_mut().flatten().enumerate() {
        *byte = data(at);
    }
    run(platform, 1, &payload, &shader, 100, bus)
}

fn data(at: usize) -> u8 {
    (at % 255) as u8 + 1
}

/// Returns the surface after a write of the block, byte by byte.
fn written(before: &[u8], [x, y]: [u32; 2], width: u32, height: u32) -> Vec<u8> {
    let mut after = before.to_vec();
    for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
        let (to_x, to_y) = (x + column, y + row);
        if (0..160).contains(&to_x) && (0..9).contains(&to_y) {
            after[(to_y * 192 + to_x) as usize] = data((row * pitch(width) + column) as usize);
        }
    }
    after
}

#[test]
fn rows_are_stored_and_others_dropped() {
    let mut stored = 0;
    for (platform, function) in FUNCTIONS {
        for (width, height) in
            [(4, 64), (4, 3), (8, 32), (12, 5), (16, 1), (20, 8), (32, 2), (36, 4), (64, 3)]
        {
            for place in [[0, 0], [16, 3], [156, 8], [160, 0], [0, 9], [0x7fff_fffc, 1], [4, 0x7fff_ffff]] {
                let registers = (pitch(width) * height).div_ceil(32);
                let text = message(platform, function, true, registers);
                let mut bus = with_rows();
                let expected = written(&bus.bytes[0], place, width, height);
                write(platform, &text, header(place, width, height), &mut bus).unwrap();
                assert_eq!(bus.bytes[0], expected, "{platform} {width} {height} {place:?}");
                stored += bus.accesses.len();
            }
        }
    }
    assert!(stored > 500, "{stored} rows were stored");
}

#[test]
fn registers_after_a_stored_block_are_left_out() {
    let mut bus = with_rows();
    let expected = written(&bus.bytes[0], [16, 2], 16, 1);
    let text = message(Platform::Skl, 12, true, 2);
    assert_eq!(write(Platform::Skl, &text, header([16, 2], 16, 1), &mut bus), Ok(3));
    assert_eq!(bus.bytes[0], expected);
    // As a second payload.
    let mut bus = with_rows();
    let text = "sends (16|M0) null:ud r2 r3 0x4C 0x020A8000";
    assert_eq!(write(Platform::Skl, text, header([16, 2], 16, 1), &mut bus), Ok(3));
    assert_eq!(bus.bytes[0], expected);
}

#[test]
fn rows_are_read_and_padded() {
    for (platform, function) in FUNCTIONS {
        for (width, height) in
            [(1, 9), (3, 7), (4, 4), (5, 6), (9, 3), (16, 4), (17, 2), (32, 2), (33, 1), (64, 1)]
        {
            let place = [13, 0];
            let mut text = message(platform, function, false, (pitch(width) * height).div_ceil(32));
            let mut expected = Vec::new();
            let mut bus = with_rows();
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let (from, to) = (row * pitch(width) + column, expected.len());
                text += &format!(
                    "\nmov (1|M0) r{}.{}<1>:ub r{}.{}<0;1,0>:ub",
                    10 + to / 32,
                    to % 32,
                    20 + from / 32,
                    from % 32
                );
                expected.push(bus.bytes[0][(192 * row + 13 + column) as usize]);
            }
            expected.resize(64, 0);
            let mut numbers = [0; 16];
            numbers[..3].copy_from_slice(&header(place, width, height));
            let run = stored_from(&mut bus, platform, 1, numbers, &text);
            assert!(run.is_ok(), "{platform} {width} {height}: {run:?}");
            assert_eq!(bus.bytes[1][..64], expected, "{platform} {width} {height}");
            if pitch(width) > width {
                let (number, byte) = (20 + width / 32, width % 32);
                let padding = format!("{text}\nmov (1|M0) r11.31<1>:ub r{number}.{byte}<0;1,0>:ub");
                let padded = stored_from(&mut with_rows(), platform, 1, numbers, &padding);
                let why = padded.map_err(|stop| stop.why);
                assert_eq!(why, Err(Why::Undefined { opcode: Opcode::Send, what: "a stored byte" }));
            }
        }
    }
}

#[test]
fn a_block_whose_effect_is_not_known_stops_the_thread() {
    const READ: bool = false;
    const WRITE: bool = true;
    let narrow = Some(Rows { pitch: 160, ..ROWS });
    let inside = header([0, 0], 16, 2);
    for (writes, registers, rows, [x, y, size], what) in [
        (READ, 1, None, inside, "the rows of the surface are not known"),
        (WRITE, 1, None, inside, "the rows of the surface are not known"),
        (WRITE, 1, narrow, inside, "the pitch of the surface is not a multiple of 64"),
        (WRITE, 1, Some(ROWS), [0, 0, 0x100 | inside[2]], "the size has bits beside width and height"),
        (READ, 1, Some(ROWS), [0, 0, 0x4000_0000 | inside[2]], "the size has bits beside width and height"),
        (WRITE, 8, Some(ROWS), header([0, 0], 64, 5), "it has more than 8 registers"),
        (WRITE, 1, Some(ROWS), header([0, 0], 16, 3), "the message has fewer registers"),
        (READ, 1, Some(ROWS), header([0, 0], 16, 3), "the message has fewer registers"),
        (READ, 2, Some(ROWS), inside, "the message has more registers"),
        (WRITE, 1, Some(ROWS), header([2, 0], 16, 1), "it is stored, and is not of whole dwords"),
        (WRITE, 1, Some(ROWS), header([0, 0], 15, 1), "it is stored, and is not of whole dwords"),
        (WRITE, 1, Some(ROWS), header([1 << 31, 0], 16, 1), "it is stored, and x or y has its highest bit"),
        (WRITE, 1, Some(ROWS), header([0, u32::MAX], 16, 2), "it is stored, and x or y has its highest bit"),
        (READ, 1, Some(ROWS), header([145, 0], 16, 1), "it is read, and is not inside of the surface"),
        (READ, 1, Some(ROWS), header([u32::MAX, 0], 16, 1), "it is read, and is not inside of the surface"),
        (READ, 1, Some(ROWS), header([0, 8], 16, 2), "it is read, and is not inside of the surface"),
    ] {
        let mut bus = Surfaces { rows: [rows, None], ..with_rows() };
        let text = message(Platform::Jsl, 12, writes, registers);
        let why = Why::Media { surface: 0, x, y, size, what };
        let stop = Stop { at: 0, why };
        assert_eq!(write(Platform::Jsl, &text, [x, y, size], &mut bus), Err(stop), "{what}");
        assert_eq!(bus.accesses, [], "{what}");
        assert!(stop.to_string().ends_with(&format!("of surface 0: {what}")), "{stop}");
    }
}

#[test]
fn a_message_for_buffers_needs_one() {
    let mut bus = with_rows();
    for text in ["send (16|M0) r10:ud r2 0xC 0x04205E00", "send (8|M0) r10:ud r2 0xA 0x02180200"] {
        let stop = stored_from(&mut bus, Platform::Skl, 0xffff, [0; 16], text).unwrap_err();
        assert_eq!(stop.why, Why::Rows { surface: 0 }, "{text}");
        assert_eq!(bus.accesses, []);
        bus.rows = [None; 2];
        stored_from(&mut bus, Platform::Skl, 0xffff, [0; 16], text).unwrap();
        bus = with_rows();
    }
}

#[test]
fn a_media_block_is_no_message_of_other_functions() {
    for (platform, function, descriptor) in [
        (Platform::Ivb, 12, 0x040a_8000),
        (Platform::Bdw, 5, 0x040a_8000),
        (Platform::Skl, 10, 0x040a_8000),
        // Without a header, and with every second row.
        (Platform::Skl, 12, 0x0402_8000),
        (Platform::Skl, 12, 0x040a_8600),
    ] {
        let text = format!("send (16|M0) null:ud r2 0x{function:X} 0x{descriptor:08X}");
        let stop = write(platform, &text, header([0, 0], 16, 1), &mut with_rows());
        let why = Why::Message { function, descriptor };
        assert_eq!(stop, Err(Stop { at: 0, why }), "{platform} {text}");
    }
}
