//! The payload that `FUNCTION DUMP` gives and `FUNCTION RESTORE` takes: the sources in the form of
//! an RDB file, with a version and a checksum at the end.

/// Marks a library.
const FUNCTION: u8 = 245;
const RDB_VERSION: u16 = 10;
const FOOTER: usize = 10;

/// Why a payload was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Too short, too new, or its checksum is wrong.
    Checksum,
    /// Something else than a function.
    OtherType,
    /// The bytes end in the middle.
    Broken,
}

/// The payload of these sources.
pub(crate) fn dump<'a>(sources: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for source in sources {
        out.push(FUNCTION);
        put_length(&mut out, source.len());
        out.extend_from_slice(source);
    }
    out.extend_from_slice(&RDB_VERSION.to_le_bytes());
    let sum = crc64(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// The sources in a payload.
pub(crate) fn read(payload: &[u8]) -> Result<Vec<Vec<u8>>, Refusal> {
    let Some(end) = payload.len().checked_sub(FOOTER) else { return Err(Refusal::Checksum) };
    let (body, footer) = payload.split_at(end);
    let version = u16::from_le_bytes([footer[0], footer[1]]);
    let sum: [u8; 8] = footer[2..].try_into().unwrap_or_default();
    if version > RDB_VERSION || u64::from_le_bytes(sum) != crc64(&payload[..end + 2]) {
        return Err(Refusal::Checksum);
    }
    let mut rest = body;
    let mut sources = Vec::new();
    while let Some((kind, tail)) = rest.split_first() {
        if *kind != FUNCTION {
            return Err(Refusal::OtherType);
        }
        let (source, tail) = string(tail).ok_or(Refusal::Broken)?;
        sources.push(source);
        rest = tail;
    }
    Ok(sources)
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..0x40 => out.push(u8::try_from(length).unwrap_or(0)),
        0x40..0x4000 => {
            let bytes = u16::try_from(length).unwrap_or(0).to_be_bytes();
            out.extend_from_slice(&[bytes[0] | 0x40, bytes[1]]);
        }
        0x4000..=0xffff_ffff => {
            out.push(0x80);
            out.extend_from_slice(&u32::try_from(length).unwrap_or(0).to_be_bytes());
        }
        _ => {
            out.push(0x81);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// A length, or the kind of a special encoding (`Err`), and the bytes behind it.
fn length(bytes: &[u8]) -> Option<(Result<usize, u8>, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let low = usize::from(first & 0x3f);
    match (first >> 6, first) {
        (0, _) => Some((Ok(low), rest)),
        (1, _) => {
            let (next, rest) = rest.split_first()?;
            Some((Ok(low << 8 | usize::from(*next)), rest))
        }
        (2, 0x80) => {
            let (raw, rest) = rest.split_first_chunk::<4>()?;
            Some((Ok(u32::from_be_bytes(*raw) as usize), rest))
        }
        (2, 0x81) => {
            let (raw, rest) = rest.split_first_chunk::<8>()?;
            Some((Ok(usize::try_from(u64::from_be_bytes(*raw)).ok()?), rest))
        }
        (3, _) => Some((Err(first & 0x3f), rest)),
        _ => None,
    }
}

fn string(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (length_or_kind, rest) = length(bytes)?;
    let kind = match length_or_kind {
        Ok(length) => {
            let (text, rest) = rest.split_at_checked(length)?;
            return Some((text.to_vec(), rest));
        }
        Err(kind) => kind,
    };
    match kind {
        0 => rest.split_first().map(|(n, rest)| (n.cast_signed().to_string().into(), rest)),
        1 => {
            let (raw, rest) = rest.split_first_chunk::<2>()?;
            Some((i16::from_le_bytes(*raw).to_string().into(), rest))
        }
        2 => {
            let (raw, rest) = rest.split_first_chunk::<4>()?;
            Some((i32::from_le_bytes(*raw).to_string().into(), rest))
        }
        3 => {
            let (packed, rest) = length(rest)?;
            let (full, rest) = length(rest)?;
            let (packed, rest) = rest.split_at_checked(packed.ok()?)?;
            Some((unpack(packed, full.ok()?)?, rest))
        }
        _ => None,
    }
}

/// LZF: runs of plain bytes and copies of what came before.
fn unpack(packed: &[u8], full: usize) -> Option<Vec<u8>> {
    // The best packing is 264 bytes from 3: an announced length beyond that is a lie.
    if full > packed.len().saturating_mul(90).saturating_add(264) {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(full);
    let mut at = 0;
    while at < packed.len() {
        let control = usize::from(packed[at]);
        at += 1;
        if control < 32 {
            out.extend_from_slice(packed.get(at..at + control + 1)?);
            at += control + 1;
            continue;
        }
        let mut count = control >> 5;
        if count == 7 {
            count += usize::from(*packed.get(at)?);
            at += 1;
        }
        let back = (control & 0x1f) << 8 | usize::from(*packed.get(at)?);
        at += 1;
        let from = out.len().checked_sub(back + 1)?;
        for index in from..from + count + 2 {
            out.push(out[index]);
        }
        if out.len() > full {
            return None;
        }
    }
    (out.len() == full).then_some(out)
}

/// The CRC-64 of RDB files (Jones' polynomial, reflected, starting from 0).
fn crc64(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    const TABLE: [u64; 256] = {
        let mut table = [0u64; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut crc = byte as u64;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
                bit += 1;
            }
            table[byte] = crc;
            byte += 1;
        }
        table
    };
    bytes.iter().fold(0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_redis() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn sources_come_back() {
        let sources: Vec<Vec<u8>> = vec![b"a".to_vec(), vec![b'x'; 100], vec![b'y'; 70000]];
        let payload = dump(sources.iter().map(Vec::as_slice));
        assert_eq!(read(&payload).unwrap(), sources);
        for cut in 0..payload.len() {
            assert!(read(&payload[..cut]).is_err());
        }
    }

    #[test]
    fn packed_strings_are_read() {
        // Two plain bytes, then nine more of them.
        assert_eq!(unpack(&[1, b'a', b'b', 0xe0, 0, 1], 11).unwrap(), b"abababababa");
        assert!(unpack(&[0x20, 0], 3).is_none());
        assert!(unpack(&[0], 1 << 30).is_none());
    }
}
