"""The paper's experiments, and synthetic collections."""

from rankdev.studies.maps.real_pairs import place_runs as place_runs
from rankdev.studies.maps.simulated import power_map as power_map
from rankdev.studies.maps.simulated import power_maps as power_maps
from rankdev.studies.missing_judgments import leave_out as leave_out
from rankdev.studies.simulation import simulate as simulate
