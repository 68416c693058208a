//! A minimal SVG writer.

use std::fmt::{self, Write};

/// Average width of a letter, relative to its height, in the requested fonts.
const LETTER_WIDTH: f64 = 0.56;

/// The appearance of text.
#[derive(Clone, Copy, Debug)]
pub struct Font {
    /// Size in pixels.
    pub size: f64,
    /// The text is bold.
    pub bold: bool,
    /// `#rrggbb`.
    pub colour: &'static str,
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
    /// `#rrggbb`.
    pub colour: &'static str,
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
    /// Draws a filled rectangle.
    pub fn rect(&mut self, at: Rect, fill: &str, stroke: Option<Stroke>) {
        let Rect { x, y, width, height } = at;
        let border = stroke.map_or(String::new(), |stroke| stroke.to_string());
        self.add(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3" fill="{}"{border}/>"#,
            Escaped(fill)
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
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{}" fill="{}"{weight}{anchor}>{}</text>"#,
            font.size,
            font.colour,
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
        self.add(format_args!(r#"<polyline points="{}" fill="none"{stroke}/>"#, points.join(" ")));
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
            r#"<polygon points="{x:.1},{y:.1} {:.1},{:.1} {:.1},{:.1}" fill="{}"/>"#,
            left.0, left.1, right.0, right.1, stroke.colour
        ));
    }

    /// Draws a filled disc.
    #[cfg(feature = "programs")]
    pub fn disc(&mut self, (x, y): (f64, f64), radius: f64, fill: &str) {
        self.add(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" fill="{}"/>"#,
            Escaped(fill)
        ));
    }

    /// Draws a group with a title, which viewers show beside the pointer.
    #[cfg(feature = "programs")]
    pub fn titled(&mut self, title: &str, draw: impl FnOnce(&mut Self)) {
        self.add(format_args!("<g><title>{}</title>", Escaped(title)));
        draw(self);
        self.add(format_args!("</g>"));
    }

    /// Returns the document, `width` by `height` pixels; the title is for screen readers.
    pub fn finish(self, width: f64, height: f64, title: &str) -> String {
        let ground = format!(r##"<rect width="{width:.0}" height="{height:.0}" fill="#ffffff"/>"##);
        self.document(width, height, title, &ground)
    }

    /// As [`Self::finish`], on a white card with round corners, which reads the same on a light and on a dark page.
    #[cfg(feature = "programs")]
    pub fn finish_card(self, width: f64, height: f64, title: &str) -> String {
        let (right, bottom) = (width.round() - 1.0, height.round() - 1.0);
        let ground = format!(
            r##"<rect x="0.5" y="0.5" width="{right}" height="{bottom}" rx="12" fill="#ffffff" stroke="#c3cbd4"/>"##
        );
        self.document(width, height, title, &ground)
    }

    fn document(self, width: f64, height: f64, title: &str, ground: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n\
             <title>{}</title>\n\
             {ground}\n{}</svg>\n",
            Escaped(title),
            self.body
        )
    }

    fn add(&mut self, element: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

impl fmt::Display for Stroke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#" stroke="{}" stroke-width="{}""#, self.colour, self.width)?;
        f.write_str(if self.dashed { r#" stroke-dasharray="4 3""# } else { "" })
    }
}

/// Text with markup characters escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            // XML allows no other control characters.
            control if control.is_control() => f.write_char(' '),
            letter => f.write_char(letter),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: Font = Font { size: 12.0, bold: false, colour: "#000000", anchor: Anchor::Start };

    #[test]
    fn text_is_never_markup() {
        let mut picture = Picture::default();
        picture.text(1.0, 2.0, "a < b & \"c\" > d\u{1}", FONT);
        let svg = picture.finish(10.0, 10.0, "<t>");
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot; &gt; d </text>"), "{svg}");
        assert!(svg.contains("<title>&lt;t&gt;</title>"), "{svg}");
    }

    #[test]
    fn an_arrow_needs_two_points() {
        let stroke = Stroke { colour: "#000000", width: 1.0, dashed: false };
        let mut picture = Picture::default();
        picture.arrow(&[(0.0, 0.0)], stroke);
        assert_eq!(picture.body, "");
        picture.arrow(&[(0.0, 0.0), (20.0, 0.0)], stroke);
        assert!(picture.body.contains("polyline") && picture.body.contains("polygon"));
    }
}
