/** What the model says in the pictures. */

const LESSON = `## How stones fall

A stone falls **faster and faster**, by \\(v = g \\cdot t\\), and after a time \\(t\\) it has fallen

$$s = \\frac{1}{2} g t^2$$

| time | speed | way |
|-----:|------:|----:|
| 1 s  | 9.8 m/s | 4.9 m |
| 2 s  | 19.6 m/s | 19.6 m |
| 3 s  | 29.4 m/s | 44.1 m |

1. Take a *stone*.
   - a heavy one
   - or a light one
2. Let it [fall](https://example.org/fall).

\`\`\`js
const way = (seconds) => (9.81 * seconds ** 2) / 2;
console.log(way(3).toFixed(1)); // 44.1
\`\`\`

> All bodies fall alike, where there is no air.

<details>
<summary>Why the mass does not matter</summary>

Twice the mass is pulled twice as much, and is twice as hard to move.

</details>
`;

/** Longer than one message of Discord. */
export const LONG_ANSWER = `${LESSON}\n${Array.from(
  { length: 6 },
  (_, n) =>
    `Paragraph ${n + 1} says more of it: what is let go begins slowly, gains the same speed in every second, and only the air ends that. A feather shows it in a tube without air, where it comes down as fast as the stone beside it.`,
).join('\n\n')}\n\nThat is all.`;

/** With everything that only a rich message of Telegram shows as it is meant. */
export const RICH_ANSWER = `${LESSON}
- [x] Find a tower.
- [ ] Let the stone fall.

That is all.`;

export const SHARED_ANSWER = `A stone falls **faster and faster**, by \\(v = g \\cdot t\\): ${'every second it gains as much as in the one before, '.repeat(6)}until it lands.

| time | speed |
|-----:|------:|
| 1 s  | 9.8 m/s |
| 2 s  | 19.6 m/s |

\`\`\`js
const speed = (seconds) => 9.81 * seconds;
\`\`\`

That is all.`;
