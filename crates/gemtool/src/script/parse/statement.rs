//! Parses statements and creations.

use super::super::error::Error;
use super::super::statement::{Edge, Making, Name, Power, Statement, Use, Way};
use super::super::values::words::{Line, Word};
use super::dispatch::dispatch;
use super::values::{bytes, options, pattern, range};
use super::{Kind, Names, Verb, number, verb};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode, MocsClass};

/// SET_DOMAIN's domains, by their words in scripts.
const DOMAINS: [(&str, Domains); 8] = [
    ("cpu", Domains::CPU),
    ("gtt", Domains::GTT),
    ("wc", Domains::WC),
    ("render", Domains::RENDER),
    ("sampler", Domains::SAMPLER),
    ("command", Domains::COMMAND),
    ("instruction", Domains::INSTRUCTION),
    ("vertex", Domains::VERTEX),
];

/// Parses the text after `NAME =`.
pub(super) fn making(line: &mut Line<'_>, names: &Names) -> Result<(Making, Kind), Error> {
    let word = line.require("'alloc', 'userptr', 'export', 'import' or 'open'")?;
    made_by(line, names, word)
}

/// Parses the creation that begins with `word`.
pub(super) fn made_by(line: &mut Line<'_>, names: &Names, word: Word<'_>) -> Result<(Making, Kind), Error> {
    let verb = verb(line, word)?;
    if verb == Verb::Alloc {
        Ok((alloc(line, names)?, Kind::Bo))
    } else if verb == Verb::Userptr {
        let word = line.require("a size ('64KiB')")?;
        let size = bytes(line, word)?;
        Ok((Making::Userptr { size, on: on(line, names)? }, Kind::Bo))
    } else if verb == Verb::Export {
        Ok((Making::Export(names.bo(line)?), Kind::DmaBuf))
    } else if verb == Verb::Import {
        let dma_buf = names.dma_buf(line)?;
        Ok((Making::Import { dma_buf, on: on(line, names)? }, Kind::Bo))
    } else if verb == Verb::Open {
        Ok((Making::Open(line.take().map(|word| word.text.to_owned())), Kind::File))
    } else {
        let why = format!("'{verb}' has no result to name (alloc, userptr, export, import, open do)");
        Err(line.wrong(word, why))
    }
}

/// Parses `[on=FILE]`.
fn on(line: &mut Line<'_>, names: &Names) -> Result<Option<Name>, Error> {
    let mut on = None;
    options(line, &["on=FILE"], |line, _, value| {
        on = Some(names.find(line, value, &[Kind::File])?);
        Ok(())
    })?;
    Ok(on)
}

/// Parses `SIZE [caching=MODE] [map=MODE] [pat=INDEX] [on=FILE]`.
fn alloc(line: &mut Line<'_>, names: &Names) -> Result<Making, Error> {
    let word = line.require("a size ('64KiB')")?;
    let size = bytes(line, word)?;
    let (mut caching, mut map, mut pat, mut on) = (None, None, None, None);
    options(line, &["caching=MODE", "map=MODE", "pat=INDEX", "on=FILE"], |line, key, value| {
        match key {
            "caching" => caching = Some(line.known::<CachingMode>(value)?),
            "pat" => pat = Some(index(line, value)?),
            "on" => on = Some(names.find(line, value, &[Kind::File])?),
            _ => map = Some(line.known::<MmapMode>(value)?),
        }
        if caching.is_some() && pat.is_some() {
            return Err(line.wrong(value, "a BO has 'caching=MODE' or 'pat=INDEX': the index is its caching"));
        }
        Ok(())
    })?;
    Ok(Making::Alloc { size, caching, pat, map, on })
}

/// Parses `word` as a PAT index.
fn index(line: &Line<'_>, word: Word<'_>) -> Result<u32, Error> {
    let index = number(line, word)?;
    u32::try_from(index).map_err(|_| line.wrong(word, format!("{index} is not a PAT index of 32 bits")))
}

/// Parses the statement that begins with `word`, which is `verb`.
pub(super) fn statement(
    line: &mut Line<'_>,
    names: &Names,
    word: Word<'_>,
    verb: Verb,
) -> Result<Statement, Error> {
    let done = match verb {
        Verb::Map => {
            let bo = names.bo(line)?;
            let mode = line.require("a map mode")?;
            Statement::Map(bo, line.known(mode)?)
        }
        Verb::Write => write(line, names, Way::Guard)?,
        Verb::Pwrite => write(line, names, Way::Request)?,
        Verb::Read => read(line, names, Way::Guard)?,
        Verb::Pread => read(line, names, Way::Request)?,
        Verb::GpuWrite => gpu_write(line, names)?,
        Verb::Submit => submit(line, names)?,
        Verb::Dispatch => Statement::Dispatch(Box::new(dispatch(line, names)?)),
        Verb::Scanout => Statement::Scanout(names.bo(line)?),
        Verb::OffScreen => Statement::OffScreen(names.bo(line)?),
        Verb::Show => Statement::Show(names.bo(line)?),
        Verb::DirtyFb => Statement::DirtyFb(names.bo(line)?),
        Verb::SetCaching => {
            let bo = names.bo(line)?;
            let mode = line.require("a caching mode")?;
            Statement::SetCaching(bo, line.known(mode)?)
        }
        Verb::Domain => domain(line, names)?,
        Verb::SwFinish => Statement::SwFinish(names.bo(line)?),
        Verb::Sync => sync(line, names)?,
        Verb::Flush => Statement::Flush(names.bo(line)?),
        Verb::Wait => Statement::Wait(names.bo(line)?),
        Verb::Close => {
            let word = line.require("the name of a BO or a dma-buf")?;
            Statement::Close(names.find(line, word, &[Kind::Bo, Kind::DmaBuf])?)
        }
        Verb::Suspend => Statement::Power(Power::Suspend),
        Verb::Hibernate => Statement::Power(Power::Hibernate),
        Verb::Resume => Statement::Power(Power::Resume),
        Verb::Alloc
        | Verb::Userptr
        | Verb::Export
        | Verb::Import
        | Verb::Open
        | Verb::Expect
        | Verb::Where
        | Verb::Needs => {
            return Err(line.wrong(word, format!("'{verb}' cannot be used here")));
        }
    };
    line.end()?;
    Ok(done)
}

/// Parses `raw` or `raw=MODE`.
fn raw(line: &Line<'_>, value: Word<'_>) -> Result<Way, Error> {
    if value.text.is_empty() { Ok(Way::Raw(None)) } else { Ok(Way::Raw(Some(line.known(value)?))) }
}

/// Parses `BO RANGE fill=PATTERN [raw]`.
fn write(line: &mut Line<'_>, names: &Names, mut way: Way) -> Result<Statement, Error> {
    let bo = names.bo(line)?;
    let range = range(line)?;
    let mut fill = None;
    let known: &[_] = match way {
        Way::Guard | Way::Raw(_) => &["fill=PATTERN", "raw", "raw=MODE"],
        Way::Request => &["fill=PATTERN"],
    };
    options(line, known, |line, key, value| {
        match key {
            "fill" => fill = Some(pattern(line, value)?),
            _ => way = raw(line, value)?,
        }
        Ok(())
    })?;
    let fill = fill.ok_or_else(|| line.missing("'fill=PATTERN'"))?;
    Ok(Statement::Write { bo, range, fill, way })
}

/// Parses `BO RANGE [expect=PATTERN] [raw]`.
fn read(line: &mut Line<'_>, names: &Names, mut way: Way) -> Result<Statement, Error> {
    let bo = names.bo(line)?;
    let range = range(line)?;
    let mut expect = None;
    let known: &[_] = match way {
        Way::Guard | Way::Raw(_) => &["expect=PATTERN", "raw", "raw=MODE"],
        Way::Request => &["expect=PATTERN"],
    };
    options(line, known, |line, key, value| {
        match key {
            "expect" => expect = Some(pattern(line, value)?),
            _ => way = raw(line, value)?,
        }
        Ok(())
    })?;
    Ok(Statement::Read { bo, range, expect, way })
}

/// Parses `BO RANGE fill=PATTERN [mocs=CLASS]`.
fn gpu_write(line: &mut Line<'_>, names: &Names) -> Result<Statement, Error> {
    let bo = names.bo(line)?;
    let range = range(line)?;
    let (mut fill, mut mocs) = (None, MocsClass::PageTable);
    options(line, &["fill=PATTERN", "mocs=CLASS"], |line, key, value| {
        match key {
            "fill" => fill = Some(pattern(line, value)?),
            _ => mocs = line.known(value)?,
        }
        Ok(())
    })?;
    let fill = fill.ok_or_else(|| line.missing("'fill=PATTERN'"))?;
    Ok(Statement::GpuWrite { bo, range, fill, mocs })
}

/// Parses `BO [access=ACCESS] [mocs=CLASS]`, once or more.
fn submit(line: &mut Line<'_>, names: &Names) -> Result<Statement, Error> {
    let mut uses = Vec::new();
    loop {
        let bo = names.bo(line)?;
        let (mut access, mut mocs) = (None, None);
        while let Some(word) = line.peek()
            && let Some((key, value)) = word.split_once("=")
        {
            line.take();
            let again = match key.text {
                "access" => access.replace(line.known::<Access>(value)?).is_some(),
                "mocs" => mocs.replace(line.known::<MocsClass>(value)?).is_some(),
                _ => {
                    return Err(line.unknown(word, "option", &["access=read", "access=write", "mocs=CLASS"]));
                }
            };
            if again {
                return Err(line.wrong(word, format!("'{}' is given twice for one BO", key.text)));
            }
        }
        let (access, mocs) = (access.unwrap_or(Access::Read), mocs.unwrap_or(MocsClass::PageTable));
        uses.push(Use { bo, access, mocs });
        if line.peek().is_none() {
            return Ok(Statement::Submit(uses));
        }
    }
}

/// Parses `BO DOMAIN ACCESS`.
fn domain(line: &mut Line<'_>, names: &Names) -> Result<Statement, Error> {
    let bo = names.bo(line)?;
    let word = line.require("a domain")?;
    let Some(&(_, domain)) = DOMAINS.iter().find(|(name, _)| *name == word.text) else {
        return Err(line.unknown(word, "domain", &DOMAINS.map(|(name, _)| name)));
    };
    let access = line.require("'read' or 'write'")?;
    Ok(Statement::Domain { bo, domain, access: line.known(access)? })
}

/// Parses `DMABUF EDGE ACCESS`.
fn sync(line: &mut Line<'_>, names: &Names) -> Result<Statement, Error> {
    let dma_buf = names.dma_buf(line)?;
    let word = line.require("'start' or 'end'")?;
    let edge = match word.text {
        "start" => Edge::Start,
        "end" => Edge::End,
        _ => return Err(line.unknown(word, "end of an access", &["start", "end"])),
    };
    let access = line.require("'read' or 'write'")?;
    Ok(Statement::Sync { dma_buf, edge, access: line.known(access)? })
}
