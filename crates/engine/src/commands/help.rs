//! The replies of `… HELP`: what a command's subcommands are called and do.

use crate::commands::ctx::Ctx;
use crate::error::Outcome;

/// Writes the help of a command: its subcommands with their arguments, and what each does.
pub(crate) fn reply(cx: &mut Ctx<'_>, command: &str, lines: &[(&str, &str)]) -> Outcome {
    let mut text =
        vec![format!("{command} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")];
    for (usage, what) in lines.iter().chain(&[("HELP", "This text.")]) {
        text.push((*usage).to_owned());
        text.push(format!("    {what}"));
    }
    cx.out.array(text.len());
    for line in text {
        cx.out.status(&line);
    }
    Ok(())
}
