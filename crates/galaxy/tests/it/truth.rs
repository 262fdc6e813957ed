//! Reference states: `tests/data/truth.tsv`, made by an independent integrator of the fifteenth order, and
//! `tests/data/de421.tsv`, from an ephemeris of the real bodies.

use galaxy::physics::Vec3;

/// One line of the file.
pub(crate) struct Truth {
    pub(crate) case: &'static str,
    pub(crate) seconds: f64,
    pub(crate) name: &'static str,
    pub(crate) at: Vec3,
    /// Where a craft started, relative to its body.
    pub(crate) start: Option<(Vec3, Vec3)>,
    /// The velocity a craft has there, relative to its body.
    pub(crate) moves: Option<Vec3>,
}

/// All lines of a case.
pub(crate) fn of(case: &str) -> Vec<Truth> {
    let lines = include_str!("../data/truth.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(read).filter(|truth| truth.case == case).collect()
}

fn read(line: &'static str) -> Truth {
    let fields: Vec<_> = line.split('\t').collect();
    let vector = |from: usize| {
        let part: Vec<f64> = fields[from..from + 3].iter().map(|x| x.parse().unwrap()).collect();
        Vec3::new(part[0], part[1], part[2])
    };
    Truth {
        case: fields[0],
        seconds: fields[1].parse().unwrap(),
        name: fields[3],
        at: vector(4),
        start: (fields[2] == "craft").then(|| (vector(7), vector(10))),
        moves: (fields[2] == "craft").then(|| vector(13)),
    }
}

/// Where the ephemeris has a body relative to another, so many seconds after J2000.
pub(crate) fn ephemeris(seconds: f64, name: &str, about: &str) -> Vec3 {
    let mut lines = include_str!("../data/de421.tsv").lines().filter(|line| !line.starts_with('#'));
    let found = lines.find_map(|line| {
        let fields: Vec<_> = line.split('\t').collect();
        let at: f64 = fields[0].parse().unwrap();
        let number = |n: usize| fields[n].parse().unwrap();
        let this = (at - seconds).abs() < 0.5 && fields[1] == name && fields[2] == about;
        this.then(|| Vec3::new(number(3), number(4), number(5)))
    });
    found.unwrap()
}
