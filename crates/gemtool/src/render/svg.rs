//! A minimal SVG writer. A picture has colours for light and for dark pages, and the viewer chooses.

use std::fmt::{self, Write};

/// Average width of a letter, relative to its height, in the requested fonts.
const LETTER_WIDTH: f64 = 0.56;

/// A colour: one for light pages, one for dark pages. `ci/lib/contrast.py` compares these with those of docs/pictures/palette.py.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The ground of the picture, and letters on a dark shape.
    Paper,
    /// The ground of a neutral box.
    Pale,
    /// Letters and lines.
    Ink,
    /// Letters and lines that matter less.
    Faint,
    /// Rules, and borders that matter less.
    Line,
    /// What is wrong.
    Red,
    /// What has changed or moved.
    Blue,
    /// The ground of what is right.
    GreenFill,
    /// The ground of what is old or dirty.
    AmberFill,
    /// The ground of the previous owner's data.
    RedFill,
    /// The ground of what the GPU wrote.
    VioletFill,
    /// The ground of a sentence about what is wrong.
    RedPale,
}

/// The appearance of text.
#[derive(Clone, Copy, Debug)]
pub struct Font {
    /// Size in pixels.
    pub size: f64,
    /// The text is bold.
    pub bold: bool,
    /// The colour.
    pub colour: Colour,
    /// The point of the text that its position gives.
    pub anchor: Anchor,
}

/// The point of a text that its position gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
}

/// The appearance of a line or a border.
#[derive(Clone, Copy, Debug)]
pub struct Stroke {
    /// The colour.
    pub colour: Colour,
    /// Width in pixels.
    pub width: f64,
    /// The line is dashed.
    pub dashed: bool,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Distance of the left edge from the left.
    pub x: f64,
    /// Distance of the upper edge from the top.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// A picture that is being drawn; later elements cover earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    body: String,
}

impl Colour {
    const ALL: [Self; 12] = [
        Self::Paper,
        Self::Pale,
        Self::Ink,
        Self::Faint,
        Self::Line,
        Self::Red,
        Self::Blue,
        Self::GreenFill,
        Self::AmberFill,
        Self::RedFill,
        Self::VioletFill,
        Self::RedPale,
    ];

    /// Returns the name in the style sheet, and the colours on a light and on a dark page.
    const fn shades(self) -> (&'static str, [&'static str; 2]) {
        match self {
            Self::Paper => ("paper", ["#ffffff", "#161b22"]),
            Self::Pale => ("pale", ["#f3f5f8", "#21262d"]),
            Self::Ink => ("ink", ["#1f2933", "#e6edf3"]),
            Self::Faint => ("faint", ["#52606d", "#a9b4c0"]),
            Self::Line => ("line", ["#c3cbd4", "#48515b"]),
            Self::Red => ("red", ["#a3211a", "#ff9d94"]),
            Self::Blue => ("blue", ["#24609f", "#7db6f5"]),
            Self::GreenFill => ("green-fill", ["#d5f0dd", "#173f27"]),
            Self::AmberFill => ("amber-fill", ["#fdeab0", "#4a3706"]),
            Self::RedFill => ("red-fill", ["#fbd3cf", "#5a1e1b"]),
            Self::VioletFill => ("violet-fill", ["#e9def8", "#3a2660"]),
            Self::RedPale => ("red-pale", ["#fdecea", "#3d1a18"]),
        }
    }

    const fn name(self) -> &'static str {
        self.shades().0
    }
}

/// Returns the style sheet: the classes `f-NAME` fill, the classes `s-NAME` draw lines.
fn style() -> String {
    let rules = |dark: usize| {
        let rule = |colour: Colour| {
            let (name, shades) = colour.shades();
            let shade = shades[dark];
            format!(".f-{name}{{fill:{shade}}}.s-{name}{{stroke:{shade}}}\n")
        };
        Colour::ALL.map(rule).concat()
    };
    format!("<style>\n{}@media (prefers-color-scheme: dark){{\n{}}}\n</style>", rules(0), rules(1))
}

impl Font {
    /// Returns how many letters fit into `width` pixels.
    pub fn letters(self, width: f64) -> usize {
        let wide = if self.bold { 1.1 } else { 1.0 };
        (width / (self.size * LETTER_WIDTH * wide)).floor().max(1.0) as usize
    }

    /// Returns the distance from one line of text to the next.
    pub fn line_height(self) -> f64 {
        (self.size * 1.35).round()
    }
}

impl Rect {
    /// Returns the horizontal centre.
    pub fn middle(self) -> f64 {
        self.x + self.width / 2.0
    }

    /// Returns the right edge.
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    /// Returns the lower edge.
    pub fn bottom(self) -> f64 {
        self.y + self.height
    }
}

impl Picture {
    /// Draws a rectangle; without `fill`, its border alone.
    pub fn rect(&mut self, at: Rect, fill: Option<Colour>, stroke: Option<Stroke>) {
        let Rect { x, y, width, height } = at;
        self.add(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3"{}/>"#,
            Paint { fill, stroke }
        ));
    }

    /// Draws one line of text; `y` is its base line.
    pub fn text(&mut self, x: f64, y: f64, text: &str, font: Font) {
        let weight = if font.bold { r#" font-weight="bold""# } else { "" };
        let anchor = match font.anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
        };
        self.add(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{}"{}{weight}{anchor}>{}</text>"#,
            font.size,
            Paint { fill: Some(font.colour), stroke: None },
            Escaped(text)
        ));
    }

    /// Draws lines of text, and returns the position of the next one.
    pub fn lines(&mut self, x: f64, y: f64, lines: &[String], font: Font) -> f64 {
        let mut y = y;
        for line in lines {
            self.text(x, y, line, font);
            y += font.line_height();
        }
        y
    }

    /// Draws straight lines from point to point.
    pub fn line(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let paint = Paint { fill: None, stroke: Some(stroke) };
        self.add(format_args!(r#"<polyline points="{}"{paint}/>"#, points.join(" ")));
    }

    /// Draws straight lines with an arrow's head at the last point.
    pub fn arrow(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        const HEAD: f64 = 9.0;
        let [.., (from_x, from_y), (x, y)] = *points else { return };
        let length = (x - from_x).hypot(y - from_y).max(1.0);
        let (dx, dy) = ((x - from_x) / length * HEAD, (y - from_y) / length * HEAD);
        let mut shaft = points.to_vec();
        if let Some(end) = shaft.last_mut() {
            *end = (x - dx * 0.8, y - dy * 0.8);
        }
        self.line(&shaft, stroke);
        let (left, right) = ((x - dx - dy / 2.0, y - dy + dx / 2.0), (x - dx + dy / 2.0, y - dy - dx / 2.0));
        self.add(format_args!(
            r#"<polygon points="{x:.1},{y:.1} {:.1},{:.1} {:.1},{:.1}"{}/>"#,
            left.0,
            left.1,
            right.0,
            right.1,
            Paint { fill: Some(stroke.colour), stroke: None }
        ));
    }

    /// Draws a filled disc.
    #[cfg(feature = "programs")]
    pub fn disc(&mut self, (x, y): (f64, f64), radius: f64, fill: Colour) {
        let paint = Paint { fill: Some(fill), stroke: None };
        self.add(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"{paint}/>"#));
    }

    /// Draws a group with a title, which viewers show beside the pointer.
    #[cfg(feature = "programs")]
    pub fn titled(&mut self, title: &str, draw: impl FnOnce(&mut Self)) {
        self.add(format_args!("<g><title>{}</title>", Escaped(title)));
        draw(self);
        self.add(format_args!("</g>"));
    }

    /// Returns the document, `width` by `height` pixels, on a card with round corners; the title is for screen readers.
    pub fn finish(self, width: f64, height: f64, title: &str) -> String {
        let (right, bottom) = (width.round() - 1.0, height.round() - 1.0);
        let border = Stroke { colour: Colour::Line, width: 1.0, dashed: false };
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n\
             <title>{}</title>\n\
             {}\n\
             <rect x=\"0.5\" y=\"0.5\" width=\"{right}\" height=\"{bottom}\" rx=\"12\"{}/>\n\
             {}</svg>\n",
            Escaped(title),
            style(),
            Paint { fill: Some(Colour::Paper), stroke: Some(border) },
            self.body
        )
    }

    fn add(&mut self, element: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// The attributes of an element's inside and border.
struct Paint {
    fill: Option<Colour>,
    stroke: Option<Stroke>,
}

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fill = self.fill.map(|fill| format!("f-{}", fill.name()));
        let line = self.stroke.map(|stroke| format!("s-{}", stroke.colour.name()));
        let classes: Vec<_> = fill.into_iter().chain(line).collect();
        write!(f, r#" class="{}""#, classes.join(" "))?;
        if self.fill.is_none() {
            f.write_str(r#" fill="none""#)?;
        }
        let Some(stroke) = self.stroke else { return Ok(()) };
        write!(f, r#" stroke-width="{}""#, stroke.width)?;
        f.write_str(if stroke.dashed { r#" stroke-dasharray="4 3""# } else { "" })
    }
}

/// Text with markup characters escaped.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            // XML allows no other control characters, and not these two.
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => f.write_char(' '),
            letter => f.write_char(letter),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: Font = Font { size: 12.0, bold: false, colour: Colour::Ink, anchor: Anchor::Start };

    #[test]
    fn text_is_never_markup() {
        let mut picture = Picture::default();
        picture.text(1.0, 2.0, "a < b & \"c\" > d\u{1}\u{ffff}", FONT);
        let svg = picture.finish(10.0, 10.0, "<t>");
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot; &gt; d  </text>"), "{svg}");
        assert!(svg.contains("<title>&lt;t&gt;</title>"), "{svg}");
    }

    #[test]
    fn an_arrow_needs_two_points() {
        let stroke = Stroke { colour: Colour::Ink, width: 1.0, dashed: false };
        let mut picture = Picture::default();
        picture.arrow(&[(0.0, 0.0)], stroke);
        assert_eq!(picture.body, "");
        picture.arrow(&[(0.0, 0.0), (20.0, 0.0)], stroke);
        assert!(picture.body.contains("polyline") && picture.body.contains("polygon"));
    }

    /// Returns the contrast of two colours `#rrggbb`, from 1 to 21, as WCAG 2.2 defines it.
    fn contrast(one: &str, other: &str) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let luminance = |colour: &str| {
            let part = |at: usize| linear(u8::from_str_radix(&colour[at..at + 2], 16).unwrap());
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn letters_are_legible_on_light_and_on_dark_pages() {
        use Colour::*;
        let grounds = [Paper, Pale, GreenFill, AmberFill, RedFill, VioletFill, RedPale];
        let on_grounds =
            grounds.into_iter().flat_map(|ground| [Ink, Faint, Red, Blue].map(|ink| (ink, ground)));
        for (letters, ground) in on_grounds.chain([(Paper, Ink), (Paper, Red)]) {
            for dark in [0, 1] {
                let found = contrast(letters.shades().1[dark], ground.shades().1[dark]);
                assert!(found >= 4.5, "{letters:?} on {ground:?}, dark {dark}: {found:.2}");
            }
        }
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
        assert!(contrast("#7b8794", "#ffffff") < 4.5, "a grey that is too light");
        assert!(contrast(Ink.shades().1[0], Paper.shades().1[1]) < 4.5, "a colour that does not change");
    }

    #[test]
    fn every_colour_has_a_rule_for_both_pages() {
        let style = style();
        let (light, dark) = style.split_once("@media (prefers-color-scheme: dark){").unwrap();
        for colour in Colour::ALL {
            let (name, shades) = colour.shades();
            for (rules, shade, other) in [(light, shades[0], shades[1]), (dark, shades[1], shades[0])] {
                assert!(rules.contains(&format!(".f-{name}{{fill:{shade}}}")), "{name}: {rules}");
                assert!(rules.contains(&format!(".s-{name}{{stroke:{shade}}}")), "{name}: {rules}");
                assert!(!rules.contains(&format!(".f-{name}{{fill:{other}}}")), "{name}: {rules}");
            }
        }
    }

    #[test]
    fn colours_stand_in_the_style_sheet_alone() {
        let stroke = Stroke { colour: Colour::Red, width: 1.0, dashed: true };
        let at = Rect { x: 0.0, y: 0.0, width: 9.0, height: 9.0 };
        let mut picture = Picture::default();
        picture.rect(at, Some(Colour::Pale), Some(stroke));
        picture.rect(at, None, Some(stroke));
        picture.arrow(&[(0.0, 0.0), (20.0, 0.0)], stroke);
        picture.text(1.0, 2.0, "words", FONT);
        assert!(!picture.body.contains('#'), "{}", picture.body);
        assert!(picture.body.contains(r#" class="f-pale s-red" stroke-width="1" stroke-dasharray"#));
        assert!(picture.body.contains(r#" class="s-red" fill="none" "#), "{}", picture.body);
        assert!(picture.finish(10.0, 10.0, "t").contains("#"), "the style sheet has colours");
    }
}
