"""What results and reports show of themselves: text, comparisons, explanations, pictures."""
