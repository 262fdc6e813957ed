//! `LCS`: the longest common subsequence of two strings, with a bounded table.

use crate::commands::ctx::{Ctx, int, is};
use crate::error::{NOT_INT, Outcome, ReplyError, SYNTAX};

const WRONG: ReplyError = ReplyError::fixed("ERR The specified keys must contain string values");

struct LcsArgs {
    len: bool,
    idx: bool,
    with_len: bool,
    min: usize,
}

fn asked(args: &[&[u8]]) -> Result<LcsArgs, ReplyError> {
    let mut asked = LcsArgs { len: false, idx: false, with_len: false, min: 0 };
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        if is(arg, "LEN") {
            asked.len = true;
        } else if is(arg, "IDX") {
            asked.idx = true;
        } else if is(arg, "WITHMATCHLEN") {
            asked.with_len = true;
        } else if is(arg, "MINMATCHLEN") && at + 1 < args.len() {
            at += 1;
            asked.min = usize::try_from(int(args[at]).map_err(|_| NOT_INT)?).unwrap_or(0);
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if asked.len && asked.idx {
        return Err(ReplyError::fixed(
            "ERR If you want both the length and indexes, please just use IDX.",
        ));
    }
    Ok(asked)
}

/// A run of matching bytes: its last position in each string, and its length.
type Run = (usize, usize, usize);

pub(crate) fn lcs(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut text = |key: &[u8]| match cx.core.read(key) {
        None => Ok(Vec::new()),
        Some(value) => value.as_string().map(std::borrow::Cow::into_owned).ok_or(WRONG),
    };
    let (a, b) = (text(argv[1])?, text(argv[2])?);
    let asked = asked(&argv[3..])?;
    let cells = (a.len() as u64 + 1).saturating_mul(b.len() as u64 + 1);
    if cells.saturating_mul(4) > cx.core.config.proto_max_bulk_len as u64 {
        return Err(ReplyError::fixed(
            "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        ));
    }
    let table = lengths(&a, &b);
    let total = table[cells as usize - 1] as usize;
    if asked.len {
        cx.out.len(total);
        return Ok(());
    }
    let (common, runs) = walk(&a, &b, &table);
    if !asked.idx {
        cx.out.bulk(&common);
        return Ok(());
    }
    cx.out.map(2);
    cx.out.bulk(b"matches");
    let shown: Vec<&Run> = runs.iter().filter(|run| run.2 >= asked.min).collect();
    cx.out.array(shown.len());
    for (end_a, end_b, len) in shown {
        cx.out.array(2 + usize::from(asked.with_len));
        for end in [end_a, end_b] {
            cx.out.array(2);
            cx.out.len(end + 1 - len);
            cx.out.len(*end);
        }
        if asked.with_len {
            cx.out.len(*len);
        }
    }
    cx.out.bulk(b"len");
    cx.out.len(total);
    Ok(())
}

fn lengths(a: &[u8], b: &[u8]) -> Vec<u32> {
    let width = b.len() + 1;
    let mut table = vec![0u32; (a.len() + 1) * width];
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            table[i * width + j] = if a[i - 1] == b[j - 1] {
                table[(i - 1) * width + j - 1] + 1
            } else {
                table[(i - 1) * width + j].max(table[i * width + j - 1])
            };
        }
    }
    table
}

/// Walks the table backwards: the common bytes, and the runs from last to first.
fn walk(a: &[u8], b: &[u8], table: &[u32]) -> (Vec<u8>, Vec<Run>) {
    let width = b.len() + 1;
    let (mut i, mut j) = (a.len(), b.len());
    let mut common = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            common.push(a[i - 1]);
            match runs.last_mut() {
                Some((end_a, end_b, len)) if *end_a + 1 - *len == i && *end_b + 1 - *len == j => {
                    *len += 1;
                }
                _ => runs.push((i - 1, j - 1, 1)),
            }
            i -= 1;
            j -= 1;
        } else if table[(i - 1) * width + j] > table[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    common.reverse();
    (common, runs)
}
