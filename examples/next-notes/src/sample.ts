/** Notes to begin with. */

const day = (text: string): Date => new Date(`${text}T12:00:00Z`);

/** Each with its id. */
export const SAMPLE = [
  [
    "electrician",
    {
      title: "Invoice of the electrician",
      body: "Three hours, two sockets in the kitchen and the light in the hall. 240 in all, due on the 15th.",
      tags: ["house", "money"],
      writtenAt: day("2026-09-02"),
    },
  ],
  [
    "bergen",
    {
      title: "Train to Bergen",
      body: "Leaves at 08:25 from platform 4. Seats 41 and 42 on the left side: the view is better.",
      tags: ["travel"],
      writtenAt: day("2026-09-11"),
    },
  ],
  [
    "rent",
    {
      title: "Rent",
      body: "Goes up by 3 % in January. Paid for October and November already.",
      tags: ["house", "money"],
      writtenAt: day("2026-10-01"),
    },
  ],
  [
    "seeds",
    {
      title: "Seeds for spring",
      body: "Beans along the wall, tomatoes only in pots. Last year the frost came on the second of May.",
      tags: ["garden"],
      writtenAt: day("2026-10-08"),
    },
  ],
  [
    "books",
    {
      title: "Books to give back",
      body: "The one about glaciers, both volumes of the letters, the cookbook. The library closes at six.",
      tags: ["reading"],
      writtenAt: day("2026-10-12"),
    },
  ],
  [
    "bicycle",
    {
      title: "Invoice of the bicycle shop",
      body: "A new chain and both brakes. 85, paid by card.",
      tags: ["money"],
      writtenAt: day("2026-10-20"),
    },
  ],
] as const;
