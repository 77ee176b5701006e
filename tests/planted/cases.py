"""All planted bugs and their correct twins."""

from cases_assorted import ASSORTED
from cases_execution import EXECUTION
from cases_memory import MEMORY
from cases_races import ORDERING, RACES

PLANTED = [*RACES, *ORDERING, *MEMORY, *EXECUTION, *ASSORTED]
