/** The frame of every page. */
import type { ReactNode } from "react";
import "./page.css";

export const metadata = { title: "Notes", description: "Notes that only their user finds" };

/** The frame. */
export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
