//! Places in sorted sets: `GEOADD`, positions, distances, and searches that answer or store. A place is a score
//! (see `geohash`), so every other command for sorted sets works on them too.

pub(crate) mod search;

use crate::commands::ctx::{Ctx, float, int, is};
use crate::commands::geo::search::{Form, Hit, Shape, sort};
use crate::commands::table::Run::{self, Plain};
use crate::commands::zset::range::store;
use crate::commands::zset::zadd;
use crate::data::geohash::GeoPoint;
use crate::data::{Zset, num};
use crate::doors::out::Out;
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("geoadd", Plain(geoadd)),
    ("geopos", Plain(geopos)),
    ("geodist", Plain(geodist)),
    ("geohash", Plain(geohash)),
    ("geosearch", Plain(|cx, argv| search(cx, argv, GeoVerb::Search))),
    ("geosearchstore", Plain(|cx, argv| search(cx, argv, GeoVerb::SearchStore))),
    ("georadius", Plain(|cx, argv| search(cx, argv, GeoVerb::Radius { read_only: false }))),
    ("georadius_ro", Plain(|cx, argv| search(cx, argv, GeoVerb::Radius { read_only: true }))),
    ("georadiusbymember", Plain(|cx, argv| search(cx, argv, GeoVerb::Member { read_only: false }))),
    (
        "georadiusbymember_ro",
        Plain(|cx, argv| search(cx, argv, GeoVerb::Member { read_only: true })),
    ),
];

const NO_SUCH_MEMBER: ReplyError = ReplyError::fixed("ERR could not decode requested zset member");

fn place(args: &[&[u8]]) -> Result<GeoPoint, ReplyError> {
    let place = GeoPoint { longitude: float(args[0])?, latitude: float(args[1])? };
    if place.is_valid() {
        return Ok(place);
    }
    let GeoPoint { longitude, latitude } = place;
    Err(ReplyError::new(format!(
        "ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}"
    )))
}

/// Metres in a unit.
fn unit(arg: &[u8]) -> Result<f64, ReplyError> {
    let units = [("m", 1.0), ("km", 1000.0), ("ft", 0.3048), ("mi", 1609.34)];
    let found = units.into_iter().find(|(name, _)| is(arg, name));
    found
        .map(|(_, metres)| metres)
        .ok_or(ReplyError::fixed("ERR unsupported unit provided. please use M, KM, FT, MI"))
}

fn radius(args: &[&[u8]]) -> Result<(Form, f64), ReplyError> {
    let radius = num::parse_f64(args[0]).ok_or(ReplyError::fixed("ERR need numeric radius"))?;
    if radius < 0.0 {
        return Err(ReplyError::fixed("ERR radius cannot be negative"));
    }
    Ok((Form::Circle { radius }, unit(args[1])?))
}

fn sides(args: &[&[u8]]) -> Result<(Form, f64), ReplyError> {
    let width = num::parse_f64(args[0]).ok_or(ReplyError::fixed("ERR need numeric width"))?;
    let height = num::parse_f64(args[1]).ok_or(ReplyError::fixed("ERR need numeric height"))?;
    if width < 0.0 || height < 0.0 {
        return Err(ReplyError::fixed("ERR height or width cannot be negative"));
    }
    Ok((Form::Box { width, height }, unit(args[2])?))
}

fn geoadd(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let words = argv[2..].iter().take_while(|arg| ["NX", "XX", "CH"].iter().any(|w| is(arg, w)));
    let from = 2 + words.count();
    let (options, members) = (&argv[2..from], &argv[from..]);
    let given = |word: &str| options.iter().any(|arg| is(arg, word));
    if !members.len().is_multiple_of(3) || (given("NX") && given("XX")) {
        return Err(SYNTAX);
    }
    let scores: Vec<String> = members
        .chunks_exact(3)
        .map(|one| Ok(place(one)?.score_bits().to_string()))
        .collect::<Result<_, ReplyError>>()?;
    let mut call = argv[..from].to_vec();
    for (score, one) in scores.iter().zip(members.chunks_exact(3)) {
        call.extend([score.as_bytes(), one[2]]);
    }
    zadd(cx, &call)
}

fn place_of(zset: Option<&Zset>, member: &[u8]) -> Option<GeoPoint> {
    zset?.score(member).map(GeoPoint::from_score)
}

fn geopos(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let zset = cx.core.zset(argv[1])?;
    cx.out.array(argv.len() - 2);
    for member in &argv[2..] {
        match place_of(zset, member) {
            None => cx.out.null_array(),
            Some(place) => cx.out.place(place),
        }
    }
    Ok(())
}

fn geohash(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let zset = cx.core.zset(argv[1])?;
    cx.out.array(argv.len() - 2);
    for member in &argv[2..] {
        match place_of(zset, member) {
            None => cx.out.null(),
            Some(place) => cx.out.bulk(&place.text()),
        }
    }
    Ok(())
}

fn geodist(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let unit = match argv.get(4) {
        None => 1.0,
        Some(name) if argv.len() == 5 => unit(name)?,
        Some(_) => return Err(SYNTAX),
    };
    let zset = cx.core.zset(argv[1])?;
    match (place_of(zset, argv[2]), place_of(zset, argv[3])) {
        (Some(from), Some(to)) => cx.out.bulk(four_decimals(from.distance(to) / unit).as_bytes()),
        _ => cx.out.null(),
    }
    Ok(())
}

/// A distance as replies show it. A number that is too large shows as the lowest integer does, as
/// in Redis.
fn four_decimals(value: f64) -> String {
    let scaled = (value * 10_000.0).round_ties_even();
    let fits = scaled.abs() < 9_223_372_036_854_775_808.0;
    let scaled = if fits { scaled as i64 } else { i64::MIN };
    let sign = if scaled < 0 { "-" } else { "" };
    let digits = scaled.unsigned_abs();
    format!("{sign}{}.{:04}", digits / 10_000, digits % 10_000)
}

/// The commands that search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GeoVerb {
    Search,
    SearchStore,
    Radius { read_only: bool },
    Member { read_only: bool },
}

impl GeoVerb {
    fn has_shape_words(self) -> bool {
        matches!(self, GeoVerb::Search | GeoVerb::SearchStore)
    }

    fn has_store_words(self) -> bool {
        matches!(self, GeoVerb::Radius { read_only: false } | GeoVerb::Member { read_only: false })
    }

    /// The index of the source key among the arguments.
    fn source(self) -> usize {
        if self == GeoVerb::SearchStore { 2 } else { 1 }
    }
}

/// The options of a search.
#[derive(Debug, Default)]
struct GeoSearchArgs<'a> {
    center: Option<GeoPoint>,
    /// The centre was given as a member or as coordinates.
    from_member: bool,
    from_place: bool,
    form: Option<(Form, f64)>,
    /// `ASC` is false, `DESC` true.
    far_first: Option<bool>,
    count: Option<usize>,
    any: bool,
    with_distance: bool,
    with_hash: bool,
    with_place: bool,
    store: Option<&'a [u8]>,
    store_distance: bool,
}

fn parse<'a>(
    argv: &[&'a [u8]],
    kind: GeoVerb,
    zset: Option<&Zset>,
) -> Result<GeoSearchArgs<'a>, ReplyError> {
    let mut asked = GeoSearchArgs::default();
    let mut rest = match kind {
        GeoVerb::Search => &argv[2..],
        GeoVerb::SearchStore => {
            asked.store = Some(argv[1]);
            &argv[3..]
        }
        GeoVerb::Radius { .. } => {
            asked.center = Some(place(&argv[2..4])?);
            asked.form = Some(radius(&argv[4..6])?);
            &argv[6..]
        }
        GeoVerb::Member { .. } => {
            // Without a source there is no member to look for, and nothing but options is checked.
            if zset.is_some() {
                asked.center = Some(place_of(zset, argv[2]).ok_or(NO_SUCH_MEMBER)?);
                asked.form = Some(radius(&argv[3..5])?);
            }
            &argv[5..]
        }
    };
    while let [word, args @ ..] = rest {
        let used = match asked.plain_word(word, args)? {
            Some(used) => used,
            None if kind.has_store_words() => asked.store_word(word, args)?,
            None if kind == GeoVerb::SearchStore && is(word, "STOREDIST") => {
                asked.store_distance = true;
                0
            }
            None if kind.has_shape_words() => asked.shape_word(word, args, zset)?,
            None => return Err(SYNTAX),
        };
        rest = &args[used..];
    }
    asked.check(argv[0], kind)?;
    Ok(asked)
}

impl<'a> GeoSearchArgs<'a> {
    /// A word that all searches know; how many arguments it takes.
    fn plain_word(&mut self, word: &[u8], args: &[&[u8]]) -> Result<Option<usize>, ReplyError> {
        match () {
            () if is(word, "WITHDIST") => self.with_distance = true,
            () if is(word, "WITHHASH") => self.with_hash = true,
            () if is(word, "WITHCOORD") => self.with_place = true,
            () if is(word, "ANY") => self.any = true,
            () if is(word, "ASC") => self.far_first = Some(false),
            () if is(word, "DESC") => self.far_first = Some(true),
            () if is(word, "COUNT") && !args.is_empty() => {
                let count = usize::try_from(int(args[0])?).ok().filter(|n| *n > 0);
                self.count = Some(count.ok_or(ReplyError::fixed("ERR COUNT must be > 0"))?);
                return Ok(Some(1));
            }
            () => return Ok(None),
        }
        Ok(Some(0))
    }

    fn store_word(&mut self, word: &[u8], args: &[&'a [u8]]) -> Result<usize, ReplyError> {
        let distance = is(word, "STOREDIST");
        if args.is_empty() || !(distance || is(word, "STORE")) {
            return Err(SYNTAX);
        }
        (self.store, self.store_distance) = (Some(args[0]), distance);
        Ok(1)
    }

    fn shape_word(
        &mut self,
        word: &[u8],
        args: &[&[u8]],
        zset: Option<&Zset>,
    ) -> Result<usize, ReplyError> {
        let (circle, square) = match self.form {
            None => (false, false),
            Some((Form::Circle { .. }, _)) => (true, false),
            Some((Form::Box { .. }, _)) => (false, true),
        };
        if is(word, "FROMMEMBER") && !args.is_empty() && !self.from_place {
            if zset.is_some() {
                self.center = Some(place_of(zset, args[0]).ok_or(NO_SUCH_MEMBER)?);
            }
            self.from_member = true;
            return Ok(1);
        }
        if is(word, "FROMLONLAT") && args.len() >= 2 && !self.from_member {
            self.center = Some(place(args)?);
            self.from_place = true;
            return Ok(2);
        }
        if is(word, "BYRADIUS") && args.len() >= 2 && !square {
            self.form = Some(radius(args)?);
            return Ok(2);
        }
        if is(word, "BYBOX") && args.len() >= 3 && !circle {
            self.form = Some(sides(args)?);
            return Ok(3);
        }
        Err(SYNTAX)
    }

    fn check(&self, command: &[u8], kind: GeoVerb) -> Outcome {
        if self.store.is_some() && (self.with_distance || self.with_hash || self.with_place) {
            let what = match kind {
                GeoVerb::SearchStore => "GEOSEARCHSTORE",
                _ => "STORE option in GEORADIUS",
            };
            return Err(ReplyError::new(format!(
                "ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
            )));
        }
        let missing = match kind {
            GeoVerb::Radius { .. } | GeoVerb::Member { .. } => None,
            _ if !(self.from_member || self.from_place) => Some("FROMMEMBER or FROMLONLAT"),
            _ if self.form.is_none() => Some("BYRADIUS and BYBOX"),
            _ => None,
        };
        if let Some(words) = missing {
            let command = String::from_utf8_lossy(command);
            return Err(ReplyError::new(format!(
                "ERR exactly one of {words} can be specified for {command}"
            )));
        }
        if self.any && self.count.is_none() {
            return Err(ReplyError::fixed("ERR the ANY argument requires COUNT argument"));
        }
        Ok(())
    }

    fn find<'z>(&self, zset: &'z Zset, shape: &Shape) -> Vec<Hit<'z>> {
        let mut hits = shape.find(zset, self.count.filter(|_| self.any));
        let wanted = self.count.map_or(hits.len(), |count| count.min(hits.len()));
        // The first few of no order would be any: then the nearest are meant.
        let nearest = (self.count.is_some() && !self.any).then_some(false);
        if let Some(far_first) = self.far_first.or(nearest) {
            sort(&mut hits, far_first, wanted);
        }
        hits.truncate(wanted);
        hits
    }
}

fn answer(out: &mut Out, asked: &GeoSearchArgs<'_>, hits: &[Hit<'_>], unit: f64) {
    let extras = [asked.with_distance, asked.with_hash, asked.with_place];
    let extras = extras.into_iter().filter(|wanted| *wanted).count();
    out.array(hits.len());
    for hit in hits {
        if extras > 0 {
            out.array(extras + 1);
        }
        out.bulk(hit.member);
        if asked.with_distance {
            out.bulk(four_decimals(hit.distance / unit).as_bytes());
        }
        if asked.with_hash {
            out.int(hit.score as i64);
        }
        if asked.with_place {
            out.place(hit.place);
        }
    }
}

fn search(cx: &mut Ctx<'_>, argv: &[&[u8]], kind: GeoVerb) -> Outcome {
    let limits = cx.core.config.limits;
    let zset = cx.core.zset(argv[kind.source()])?;
    let asked = parse(argv, kind, zset)?;
    let mut unit = 1.0;
    let hits = match (zset, asked.center, asked.form) {
        (Some(zset), Some(center), Some((form, metres))) => {
            unit = metres;
            asked.find(zset, &Shape { center, form, unit })
        }
        _ => Vec::new(),
    };
    let Some(key) = asked.store else {
        answer(cx.out, &asked, &hits, unit);
        return Ok(());
    };
    let mut stored = Zset::new();
    for hit in &hits {
        let score = if asked.store_distance { hit.distance / unit } else { hit.score };
        if score.is_nan() {
            return Err(ReplyError::fixed("ERR resulting score is not a number (NaN)"));
        }
        stored.insert(hit.member, score, &limits);
    }
    let n = hits.len();
    let event = if kind.has_shape_words() { "geosearchstore" } else { "georadiusstore" };
    store(cx.core, key, stored, event);
    cx.out.len(n);
    Ok(())
}
